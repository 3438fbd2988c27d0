// What dialogs over a live view have in common: a list in place of its rows, or a question in place of the lines at the bottom. While one
// is open it has all keys; what it has done is done meanwhile.

import { messageOf } from '../base/errors.ts'
import { clean, cut, tail } from './format.ts'
import { BOTTOM_LINES, type FrameScene, glyphsOf, run } from './frame-lines.ts'
import type { Line } from './screen.ts'

/** Lines of status that stay. */
const TOP_LINES = 2

/** Tells the user how it goes; a failure until the next key. */
export type Tell = (text: string, isFailure: boolean) => void

export abstract class Dialog<State> {
  /** What is shown; undefined while it is closed. */
  protected state: State | undefined

  constructor(protected readonly tell: Tell) {}

  get isOpen(): boolean {
    return this.state !== undefined
  }

  press(key: string): void {
    if (this.state === undefined) return
    if (key === 'escape') this.state = this.above(this.state)
    else this.pressIn(this.state, key)
  }

  /** Where Esc leads; undefined closes. */
  protected above(_state: State): State | undefined {
    return undefined
  }
  protected abstract pressIn(state: State, key: string): void
  /** In place of rows, if there are any. */
  protected abstract listOf(state: State, scene: FrameScene): Line[] | undefined
  protected abstract bottomOf(state: State, scene: FrameScene): [Line, Line]

  /** Over the lines of a view. */
  over(lines: readonly Line[], scene: FrameScene): readonly Line[] {
    if (this.state === undefined) return lines
    const body = lines.slice(TOP_LINES, lines.length - BOTTOM_LINES)
    const shown = this.listOf(this.state, scene) ?? body
    const filled = Array.from(body, (_, i): Line => shown[i] ?? [])
    return [...lines.slice(0, TOP_LINES), ...filled, ...this.bottomOf(this.state, scene)]
  }

  /** Tells what comes of it. */
  protected async tellOf(work: Promise<string>): Promise<void> {
    try {
      this.tell(await work, false)
    } catch (error) {
      this.tell(this.failure(messageOf(error)), true)
    }
  }

  protected failure(message: string): string {
    return message
  }
}

/** Rows of a list that fit below its head. */
export function listRoom({ rows }: FrameScene): number {
  return rows - TOP_LINES - BOTTOM_LINES - 1
}

/** The word to the user, which a list leaves on the screen. */
export function noticeLine({ columns, notice }: FrameScene): Line {
  return notice === undefined ? [] : [run(` ${cut(clean(notice), columns - 1)}`, 'warning')]
}

/** What keys do, by key. */
export function keyHints(hints: Readonly<Record<string, string>>): Line {
  const all = Object.entries(hints)
  return all.flatMap(([key, does], i) => [
    run(i === 0 ? ` ${key}` : key, 'key'),
    run(i < all.length - 1 ? ` ${does}  ` : ` ${does}`, 'dim'),
  ])
}

/** A line that is typed: as much of its end as fits beside `before`. */
export function typedLine(before: string, text: string, room: number, scene: FrameScene): Line {
  const { cursor, ellipsis } = glyphsOf(scene)
  return [run(before, 'key'), run(tail(clean(text), scene.columns - room, ellipsis) + cursor)]
}

/** What a key makes of a line that is typed; undefined for keys that type nothing. */
export function textAfter(text: string, key: string): string | undefined {
  if (key === 'backspace') return [...text].slice(0, -1).join('')
  if (key === 'C-u') return ''
  if (key === 'space') return `${text} `
  return [...key].length === 1 ? text + key : undefined
}
