// Model and lines of the JVM picker: rows that match the typed text, selection, layout. Pure.

import { maxOf } from '../base/arrays.ts'
import { fuzzyScore } from '../base/fuzzy.ts'
import { clean, cut, pad, right, width } from './format.ts'

export interface JvmRow {
  readonly pid: number
  readonly mainClass: string
  /** Value of the system property `java.version`. */
  readonly version: string
  readonly user: string
  /** CPU use: 1 means one processor. Undefined until it is measured. */
  readonly cpu: number | undefined
  /** `true`, or a short reason why jfluid cannot attach. */
  readonly attachable: true | string
}

export class JvmList {
  #rows: readonly JvmRow[] = []
  #typed = ''
  /** Process id of the selected row. Row indices change as JVMs start and end. */
  #selected: number | undefined

  get typed(): string {
    return this.#typed
  }

  /** Number of all running JVMs, including JVMs that do not match the typed text. */
  get all(): number {
    return this.#rows.length
  }

  set rows(rows: readonly JvmRow[]) {
    this.#rows = rows
  }

  /** Rows that match the typed text, best match first; all rows in their original order if no text is typed. */
  get fitting(): readonly JvmRow[] {
    if (this.#typed === '') return this.#rows
    const scored = this.#rows.flatMap((row) => {
      const score = fitOf(row, this.#typed)
      return score === null ? [] : [{ row, score }]
    })
    // The comparison uses no subtraction, since the difference of two infinities is NaN.
    return scored.sort((a, b) => (a.score === b.score ? 0 : a.score > b.score ? -1 : 1)).map((it) => it.row)
  }

  /** Index of the selected row in `fitting`; 0 if the selected JVM has ended. */
  get index(): number {
    return Math.max(
      0,
      this.fitting.findIndex((it) => it.pid === this.#selected),
    )
  }

  get selected(): JvmRow | undefined {
    return this.fitting[this.index]
  }

  move(rows: number): void {
    const { fitting, index } = this
    this.#selected = fitting[Math.max(0, Math.min(index + rows, fitting.length - 1))]?.pid
  }

  type(text: string): void {
    this.#typed += clean(text)
    this.#selected = undefined
  }

  /**
   * Handles typed characters in order. A terminal may send several characters at once.
   *
   * @returns `take` for Enter, `leave` for Ctrl-C or Ctrl-D, else undefined. Ignores characters after these keys
   */
  typeAll(input: string): 'take' | 'leave' | undefined {
    for (const character of input) {
      if (character === '\r' || character === '\n') return 'take'
      if (character === '\x03' || character === '\x04') return 'leave'
      if (character === '\x7f' || character === '\b') this.erase()
      else if (character === '\x15') this.clear()
      else this.type(character)
    }
    return undefined
  }

  erase(): void {
    this.#typed = [...this.#typed].slice(0, -1).join('')
    this.#selected = undefined
  }

  clear(): void {
    this.#typed = ''
    this.#selected = undefined
  }
}

/** Returns the match score of a row: process id by prefix, main class fuzzily, user or version by substring. Null if no match. */
function fitOf({ pid, mainClass, user, version }: JvmRow, typed: string): number | null {
  if (`${pid}`.startsWith(typed)) return Number.POSITIVE_INFINITY
  const others = [user, version].some((it) => it.toLowerCase().includes(typed.toLowerCase()))
  return fuzzyScore(typed, mainClass) ?? (others ? Number.NEGATIVE_INFINITY : null)
}

const HEADS = { pid: 'PID', cpu: 'CPU %', version: 'JAVA', user: 'USER', mainClass: 'MAIN CLASS' }

export interface JvmLine {
  readonly text: string
  readonly isAttachable: boolean
  readonly isSelected: boolean
}

/**
 * Returns the head, and the visible rows around the selected row.
 *
 * @param room  number of rows that fit below the head
 */
export function jvmLines(list: JvmList, columns: number, room: number): { head: string; rows: JvmLine[] } {
  const { fitting, index } = list
  const first = Math.max(0, Math.min(index - Math.floor(room / 2), fitting.length - room))
  const shown = fitting.slice(first, first + room)
  const cells = (row: JvmRow): string[] => [
    `${row.pid}`,
    row.cpu === undefined ? '' : (row.cpu * 100).toFixed(0),
    clean(row.version),
    clean(row.user),
  ]
  const heads = [HEADS.pid, HEADS.cpu, HEADS.version, HEADS.user]
  const rows = shown.map(cells)
  const widths = heads.map((head, i) =>
    maxOf(
      rows.map((row) => width(row[i]!)),
      width(head),
    ),
  )
  const line = (texts: readonly string[], last: string): string => {
    const numbers = texts.map((it, i) => (i < 2 ? right(it, widths[i]!) : pad(it, widths[i]!)))
    return cut(`${numbers.join('  ')}  ${last}`, columns - 2)
  }
  return {
    head: line(heads, HEADS.mainClass),
    rows: shown.map((row, i) => ({
      text: line(
        rows[i]!,
        clean(row.mainClass) +
          (row.attachable === true ? '' : `  (not attachable: ${clean(row.attachable)})`),
      ),
      isAttachable: row.attachable === true,
      isSelected: first + i === index,
    })),
  }
}
