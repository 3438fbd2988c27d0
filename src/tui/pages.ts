// State of the page that is shown in place of the rows: its name and its scroll position.

import type { Mouse } from './screen.ts'

/**
 * Returns the number of lines by which a key moves the selection or scrolls; undefined for other keys.
 *
 * @param room  number of lines on the screen
 */
export function stepOf(key: string, room: number): number | undefined {
  const steps: Readonly<Record<string, number>> = {
    up: -1,
    k: -1,
    down: 1,
    j: 1,
    pageup: -room,
    pagedown: room,
    home: Number.NEGATIVE_INFINITY,
    g: Number.NEGATIVE_INFINITY,
    end: Number.POSITIVE_INFINITY,
    G: Number.POSITIVE_INFINITY,
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
    if (this.#shown === page) this.close()
    else this.show(page)
  }

  /** Shows the page from its first line. */
  show(page: Name): void {
    this.#shown = page
    this.#first = 0
  }

  close(): void {
    this.#shown = undefined
  }

  /** Scrolls the page. @param all  number of lines of the page */
  scroll(lines: number, all: number, room: number): void {
    this.#first = Math.max(0, Math.min(this.#first + lines, all - room))
  }

  /**
   * Handles the mouse: a click closes the page, the wheel scrolls it.
   *
   * @returns false if no page is open
   */
  point(kind: Mouse['kind'], [all, room]: readonly [all: number, room: number]): boolean {
    if (this.#shown === undefined) return false
    if (kind === 'click') this.close()
    else this.scroll(kind === 'wheel-up' ? -1 : 1, all, room)
    return true
  }

  /**
   * Handles the keys that scroll or close the page.
   *
   * @returns whether the key was handled; false if no page is open
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
