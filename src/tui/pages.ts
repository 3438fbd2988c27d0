// A page that is shown instead of the rows, and how far it has been scrolled.

import type { Mouse } from './screen.ts'

/**
 * How many lines on a key goes; undefined for keys that go nowhere.
 *
 * @param room  lines on the screen
 */
export function stepOf(key: string, room: number): number | undefined {
  const steps: Readonly<Record<string, number>> = {
    ...{ up: -1, k: -1, down: 1, j: 1, pageup: -room, pagedown: room },
    ...{ home: Number.NEGATIVE_INFINITY, g: Number.NEGATIVE_INFINITY },
    ...{ end: Number.POSITIVE_INFINITY, G: Number.POSITIVE_INFINITY },
  }
  return steps[key]
}

export class Pages<Name extends string> {
  #shown: Name | undefined
  #first = 0

  get shown(): Name | undefined {
    return this.#shown
  }

  /** Index of the first line on the screen. */
  get first(): number {
    return this.#first
  }

  toggle(page: Name): void {
    this.#shown = this.#shown === page ? undefined : page
    this.#first = 0
  }

  close(): void {
    this.#shown = undefined
  }

  /** @param all  lines of the page */
  scroll(lines: number, all: number, room: number): void {
    this.#first = Math.max(0, Math.min(this.#first + lines, all - room))
  }

  /**
   * A click closes a page, and the wheel scrolls it.
   *
   * @returns false where none is shown
   */
  point(kind: Mouse['kind'], [all, room]: readonly [all: number, room: number]): boolean {
    if (this.#shown === undefined) return false
    if (kind === 'click') this.close()
    else this.scroll(kind === 'wheel-up' ? -1 : 1, all, room)
    return true
  }

  /**
   * A page scrolls and closes.
   *
   * @returns whether that is what the key does; false where none is shown
   */
  press(key: string, [all, room]: readonly [all: number, room: number]): boolean {
    if (this.#shown === undefined) return false
    const step = stepOf(key, room)
    if (step !== undefined) this.scroll(step, all, room)
    else if (['escape', 'q', 'enter', 'space'].includes(key)) this.close()
    else return false
    return true
  }
}
