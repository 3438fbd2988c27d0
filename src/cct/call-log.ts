// What a thread's call of a root has told, run by run, so that it can be told again.

import type { CctBuilder } from './builder.ts'
import type { TakenOut } from './pauses.ts'

/** Elements of a thread's words that are kept: 2 MiB, 262,144 events. */
const MOST_WORDS = 2 ** 19
const MOST_STRETCHES = 2 ** 18
const FIRST_WORDS = 1024
/** Elements that room is kept for between calls. */
const KEPT_WORDS = 2 ** 16
/** A number of an array that grows. */
const NUMBER_BYTES = 8
/** The objects of a call that is kept, about, and of what a pause has taken out of it. */
const CALL_BYTES = 512
const TAKEN_OUT_BYTES = 32

// What a stretch is.
const CALLS = 0
export const ADJUST = 1
export const SUSPEND = 2
export const RESUME = 3
export const CAUGHT = 4
export const SITE = 5

/** Where one stretch of events begins, of four numbers each: kind, and what goes with it. */
const STRETCH = 4
/** Of four bytes. */
export const STRETCH_ELEMENTS = 2 * STRETCH

/** What a thread's call has told so far. */
export class CallLog {
  words: Uint32Array
  used = 0
  stretches: number[] = []
  /** Of a call that has outgrown its words: what was read meanwhile. */
  builder: CctBuilder | null = null
  /** Bytes of it when it had read that. */
  builderBytes = 0
  /** That has outgrown its bound: nothing of it is kept any more. */
  isTooLarge = false
  /** It was here when the call began. */
  isWhole = false
  /** When it did, in ticks. */
  began = 0
  /** What pauses have taken out of its time, and not yet out of its own builder if it has one. */
  #takenOut: TakenOut[] = []

  constructor(words = new Uint32Array(FIRST_WORDS)) {
    this.words = words
  }

  clear(): void {
    this.forget()
    if (this.words.length > KEPT_WORDS) this.words = new Uint32Array(FIRST_WORDS)
    this.builder = null
    this.builderBytes = 0
    this.isTooLarge = this.isWhole = false
    this.#takenOut = []
  }

  /** What is kept has been read. */
  forget(): void {
    this.used = 0
    this.stretches = []
  }

  giveUp(): void {
    this.clear()
    this.words = new Uint32Array(FIRST_WORDS)
    this.isTooLarge = this.isWhole = true
  }

  /** What is kept of events, in elements of four bytes. */
  get elements(): number {
    return this.used + 2 * this.stretches.length
  }

  get isLarge(): boolean {
    return this.used > MOST_WORDS || this.stretches.length > MOST_STRETCHES
  }

  /** Of memory, about. */
  get bytes(): number {
    const numbers = this.stretches.length * NUMBER_BYTES + this.#takenOut.length * TAKEN_OUT_BYTES
    return CALL_BYTES + this.words.byteLength + numbers + (this.builder?.bytes ?? 0)
  }

  /** A pause was in its time, whether it has ended or not. */
  takeOut(takenOut: TakenOut): void {
    if (!this.isTooLarge) this.#takenOut.push(takenOut)
  }

  take(words: Uint32Array, from: number, to: number, base: number): void {
    const count = to - from
    if (this.used + count > this.words.length) {
      const grown = new Uint32Array(Math.max(this.used + count, this.words.length * 2))
      grown.set(this.words.subarray(0, this.used))
      this.words = grown
    }
    this.words.set(words.subarray(from, to), this.used)
    this.stretches.push(CALLS, this.used, this.used + count, base)
    this.used += count
  }

  /** Reads what is kept into its own builder. */
  readMeanwhile(builder: CctBuilder, thread: number): void {
    this.tell(builder, thread)
    this.builder = builder
    this.builderBytes = builder.bytes
    this.#takenOut = []
    this.forget()
  }

  /** What was taken out goes from its own builder, if it has one, which has read everything. */
  settle(thread: number): void {
    if (this.builder === null) return
    for (const takenOut of this.#takenOut) this.builder.takeOut(thread, this.began, takenOut)
    this.#takenOut = []
  }

  /** Tells it all to a builder, as events of this thread: what comes of it are the same contexts. */
  tell(builder: CctBuilder, thread: number): void {
    builder.awaitGaps(thread, this.began, this.#takenOut)
    this.#tellEvents(builder, thread)
    builder.takeOutAwaited()
  }

  #tellEvents(builder: CctBuilder, thread: number): void {
    const { stretches, words } = this
    builder.thread(thread, -1)
    if (this.builder === null) builder.root() // one before it may have lost its end
    for (let at = 0; at < stretches.length; at += STRETCH) {
      const [a, b, base] = [stretches[at + 1]!, stretches[at + 2]!, stretches[at + 3]!]
      switch (stretches[at]) {
        case CALLS:
          builder.calls(words, a, b, base)
          break
        case ADJUST:
          builder.adjust(a)
          break
        case SUSPEND:
          builder.suspend(a)
          break
        case RESUME:
          builder.resume(a)
          break
        case CAUGHT:
          builder.caught(a, b)
          break
        case SITE:
          builder.site(a)
      }
    }
  }

  copy(): CallLog {
    const copy = new CallLog(this.words.slice(0, this.used))
    copy.used = this.used
    copy.stretches = this.stretches
    copy.builder = this.builder
    copy.isTooLarge = this.isTooLarge
    copy.began = this.began
    copy.#takenOut = this.#takenOut
    return copy
  }
}
