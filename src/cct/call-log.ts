// Records the events of a thread's root call, run by run, for a later replay.

import type { CctBuilder } from './builder.ts'
import type { TakenOut } from './pauses.ts'

/** Maximum number of kept elements of a thread's events: 2 MiB, 262,144 events. */
const MAX_WORDS = 2 ** 19
const MAX_STRETCHES = 2 ** 18
const FIRST_WORDS = 1024
/** Capacity kept between calls, in elements. */
const KEPT_WORDS = 2 ** 16
/** Bytes of a number in a growing array. */
const NUMBER_BYTES = 8
/** Approximate bytes of the objects of one call, and of one pause subtracted from the call. */
const CALL_BYTES = 512
const TAKEN_OUT_BYTES = 32

// Kinds of segments.
const CALLS = 0
export const ADJUST = 1
export const SUSPEND = 2
export const RESUME = 3
export const CAUGHT = 4
export const SITE = 5

/** Numbers per segment header: kind and three arguments. */
const STRETCH = 4
/** Size of a segment header in elements of four bytes. */
export const STRETCH_ELEMENTS = 2 * STRETCH

/** Log of a thread's current root call. */
export class CallLog {
  words: Uint32Array
  used = 0
  stretches: number[] = []
  /** Builder of a call that has outgrown the log: receives its events directly. */
  builder: CctBuilder | null = null
  /** Bytes of the builder after its last event. */
  builderBytes = 0
  /** The call has exceeded its memory bound. Its log is discarded. */
  isTooLarge = false
  /** The log existed when the call began, so the log is complete. */
  isWhole = false
  /** Start of the call in ticks. */
  began = 0
  /** Pauses subtracted from the call, but not yet subtracted in its own builder (if it has one). */
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

  /** Discards the log after it has been read. */
  forget(): void {
    this.used = 0
    this.stretches = []
  }

  giveUp(): void {
    this.clear()
    this.words = new Uint32Array(FIRST_WORDS)
    this.isTooLarge = this.isWhole = true
  }

  /** Size of the logged events, in elements of four bytes. */
  get elements(): number {
    return this.used + 2 * this.stretches.length
  }

  get isLarge(): boolean {
    return this.used > MAX_WORDS || this.stretches.length > MAX_STRETCHES
  }

  /** Approximate memory use. */
  get bytes(): number {
    const numbers = this.stretches.length * NUMBER_BYTES + this.#takenOut.length * TAKEN_OUT_BYTES
    return CALL_BYTES + this.words.byteLength + numbers + (this.builder?.bytes ?? 0)
  }

  /** Registers a pause within the call. The pause may still be open. */
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

  /** Moves the logged events into the call's own builder. */
  readMeanwhile(builder: CctBuilder, thread: number): void {
    this.tell(builder, thread)
    this.builder = builder
    this.builderBytes = builder.bytes
    this.#takenOut = []
    this.forget()
  }

  /** Subtracts the pauses in the call's own builder, if it has one. That builder has read all events. */
  settle(thread: number): void {
    if (this.builder === null) return
    for (const takenOut of this.#takenOut) this.builder.takeOut(thread, this.began, takenOut)
    this.#takenOut = []
  }

  /** Replays all events in a builder, as events of this thread. The result has the same contexts. */
  tell(builder: CctBuilder, thread: number): void {
    builder.awaitGaps(thread, this.began, this.#takenOut)
    this.#tellEvents(builder, thread)
    builder.takeOutAwaited()
  }

  #tellEvents(builder: CctBuilder, thread: number): void {
    const { stretches, words } = this
    builder.thread(thread, -1)
    if (this.builder === null) builder.root() // the end of the previous call may be lost
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
