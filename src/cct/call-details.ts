// Details of a slow call that its thread writes after the end of the call: values of the program, the caller of the root, a trace id. Each
// detail has a slot and arrives in parts of 32 bits (events/event-layout.ts).

import { SLOT_CALLER, SLOT_DETAILS, SLOT_TRACE_ID } from '../events/event-layout.ts'
import { printable } from './value-texts.ts'

/** Maximum number of parts of a call. Six texts of 128 characters have 384 parts. */
const MAX_PARTS = 512
/** Number of values of `--show`. Their slots are 0, 1, 2 … */
const SHOWN = 4

// Kinds of parts.
const TEXT = 0
const LONG_LOW = 1
const LONG_HIGH = 2
const WORD = 5
const CLASS_NAME = 6
const LENGTH = 7

/** Texts of parts of the kind WORD. */
const WORDS = [
  'null',
  '(not read yet)',
  '(not readable)',
  '(none)',
  'true',
  'false',
  '(getter threw)',
  '(switched off)',
  '(too many classes)',
]

export interface CallDetails {
  /** Values in the order of `--show`; null if a value has not arrived. Empty without `--show`. */
  readonly values: readonly (string | null)[]
  /** Class and method that called the root, separated by a dot; null if unknown. */
  readonly caller: string | null
  readonly traceId: string | null
}

export class DetailWords {
  /** Slot and kind in one number, then data. */
  readonly #parts: number[] = []

  add(slot: number, kind: number, data: number): void {
    if (slot !== SLOT_DETAILS && this.#parts.length < 2 * MAX_PARTS) this.#parts.push(slot * 8 + kind, data)
  }

  /** Returns the details so far; null if there are none. */
  read(): CallDetails | null {
    if (this.#parts.length === 0) return null
    const values = Array.from({ length: SHOWN }, (_, slot) => this.#textOf(slot))
    while (values.at(-1) === null) values.pop()
    return { values, caller: this.#textOf(SLOT_CALLER), traceId: this.#textOf(SLOT_TRACE_ID) }
  }

  #textOf(slot: number): string | null {
    const units: number[] = []
    let text: string | null = null
    const bits = new DataView(new ArrayBuffer(8))
    for (let at = 0; at < this.#parts.length; at += 2) {
      const [what, data] = [this.#parts[at]!, this.#parts[at + 1]!]
      if (Math.floor(what / 8) !== slot) continue
      switch (what % 8) {
        case TEXT:
        case CLASS_NAME:
          units.push(data & 0xffff)
          if (data >>> 16 !== 0) units.push(data >>> 16)
          text = clean(units)
          break
        case LONG_LOW:
          bits.setUint32(0, data, true)
          break
        case LONG_HIGH:
          bits.setUint32(4, data, true)
          text = `${bits.getBigInt64(0, true)}`
          break
        case WORD:
          text = WORDS[data] ?? '(not readable)'
          break
        case LENGTH:
          text = `[${data}]`
      }
    }
    return text
  }
}

function clean(units: readonly number[]): string {
  const shown = units.length === 1 && units[0] === 0 ? [] : units
  return printable(shown.map((it) => String.fromCharCode(it)).join(''))
}
