// Base of dialogs over a live view. A dialog is a list that replaces the rows, or a question that replaces the bottom lines.
// An open dialog receives all keys. Its actions run asynchronously.

import { messageOf } from '../base/errors.ts'
import { clean, cut, tail } from './format.ts'
import { BOTTOM_LINES, type FrameScene, glyphsOf, run } from './frame-lines.ts'
import type { Line } from './screen.ts'

/** Number of status lines that stay visible. */
const TOP_LINES = 2

/** Shows a message to the user. A failure is shown until the next key. */
export type Tell = (text: string, isFailure: boolean) => void

export abstract class Dialog<State> {
  /** Current state; undefined while the dialog is closed. */
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

  /** Returns the state after Esc; undefined closes the dialog. */
  protected above(_state: State): State | undefined {
    return undefined
  }
  protected abstract pressIn(state: State, key: string): void
  /** Returns the lines that replace the rows, or undefined if the rows stay visible. */
  protected abstract listOf(state: State, scene: FrameScene): Line[] | undefined
  protected abstract bottomOf(state: State, scene: FrameScene): [Line, Line]

  /** Returns the lines of a view with the dialog drawn over them. */
  over(lines: readonly Line[], scene: FrameScene): readonly Line[] {
    if (this.state === undefined) return lines
    const body = lines.slice(TOP_LINES, lines.length - BOTTOM_LINES)
    const shown = this.listOf(this.state, scene) ?? body
    const filled = Array.from(body, (_, i): Line => shown[i] ?? [])
    return [...lines.slice(0, TOP_LINES), ...filled, ...this.bottomOf(this.state, scene)]
  }

  /** Shows the message with which a task ends, or its failure. */
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

/** Returns the number of list rows that fit below the head of the list. */
export function listRoom({ rows }: FrameScene): number {
  return rows - TOP_LINES - BOTTOM_LINES - 1
}

/** Returns the line with the current notice, to show above the key line of a list. */
export function noticeLine({ columns, notice }: FrameScene): Line {
  return notice === undefined ? [] : [run(` ${cut(clean(notice), columns - 1)}`, 'warning')]
}

/** Returns the line of keys with their actions. */
export function keyHints(hints: Readonly<Record<string, string>>): Line {
  const all = Object.entries(hints)
  return all.flatMap(([key, does], i) => [
    run(i === 0 ? ` ${key}` : key, 'key'),
    run(i < all.length - 1 ? ` ${does}  ` : ` ${does}`, 'dim'),
  ])
}

/** Returns an input line: the label `before`, and the end of the typed text that fits. */
export function typedLine(before: string, text: string, room: number, scene: FrameScene): Line {
  const { cursor, ellipsis } = glyphsOf(scene)
  return [run(before, 'key'), run(tail(clean(text), scene.columns - room, ellipsis) + cursor)]
}

/** Returns the typed text after a key; undefined for keys that do not edit. */
export function textAfter(text: string, key: string): string | undefined {
  if (key === 'backspace') return [...text].slice(0, -1).join('')
  if (key === 'C-u') return ''
  if (key === 'space') return `${text} `
  return [...key].length === 1 ? text + key : undefined
}
