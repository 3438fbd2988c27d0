// What a thread's call of a root has told, run by run, so that it can be told again.

import type { CctBuilder } from './builder.ts'

/** Elements of a thread's words that are kept: 2 MiB, 262,144 events. */
const MOST_WORDS = 2 ** 19
const MOST_STRETCHES = 2 ** 18
const FIRST_WORDS = 1024
/** Elements that room is kept for between calls. */
const KEPT_WORDS = 2 ** 16
/** A number of an array that grows. */
const NUMBER_BYTES = 8
/** The objects of a call that is kept, about. */
const CALL_BYTES = 512

// What a stretch is.
const CALLS = 0
export const ADJUST = 1
export const SUSPEND = 2
export const RESUME = 3
export const CAUGHT = 4
export const SITE = 5
export const COUNTED = 6

/** Where one stretch of events begins, of four numbers each: kind, and what goes with it. */
const STRETCH = 4

/** What a thread's call has told so far. */
export class CallLog {
  words: Uint32Array
  used = 0
  stretches: number[] = []
  /** Of a call that has outgrown its words: what was read meanwhile. */
  builder: CctBuilder | null = null
  /** That has outgrown its bound. */
  isTooLarge = false
  /** It was here when the call began. */
  isWhole = false
  /** When it did, in ticks. */
  began = 0
  /** What pauses have taken out of its time, two numbers each: a tick in the gap, and ticks. */
  #takenOut: number[] = []

  constructor(words = new Uint32Array(FIRST_WORDS)) {
    this.words = words
  }

  clear(): void {
    this.forget()
    if (this.words.length > KEPT_WORDS) this.words = new Uint32Array(FIRST_WORDS)
    this.builder = null
    this.isTooLarge = this.isWhole = false
    this.#takenOut = []
  }

  /** What is kept has been read. */
  forget(): void {
    this.used = 0
    this.stretches = []
  }

  get isLarge(): boolean {
    return this.used > MOST_WORDS || this.stretches.length > MOST_STRETCHES
  }

  /** Of memory, about. */
  get bytes(): number {
    const numbers = (this.stretches.length + this.#takenOut.length) * NUMBER_BYTES
    return CALL_BYTES + this.words.byteLength + numbers + (this.builder?.bytes ?? 0)
  }

  /**
   * A pause was in its time, whether it has ended or not.
   *
   * @param at     a tick in the gap that it was in
   * @param ticks  negative if it was none after all
   */
  takeOut(at: number, ticks: number): void {
    if (!this.isTooLarge) this.#takenOut.push(at, ticks)
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

  /** Reads what is kept into its own builder. What was taken out of gaps that are still to be read waits for them. */
  readMeanwhile(builder: CctBuilder, thread: number): void {
    this.#tellEvents(builder, thread)
    this.builder = builder
    this.forget()
    this.settle(thread)
  }

  /** What was taken out goes from its own builder, if it has one. */
  settle(thread: number): void {
    if (this.builder !== null) this.#takenOut = this.#leftOf(this.builder, thread)
  }

  /** Tells it all to a builder, as events of this thread: what comes of it are the same contexts. */
  tell(builder: CctBuilder, thread: number): void {
    this.#tellEvents(builder, thread)
    if (this.#takenOut.length > 0) this.#leftOf(builder, thread)
  }

  /** Takes out what was taken out. @returns of which the gap is not there */
  #leftOf(builder: CctBuilder, thread: number): number[] {
    const left: number[] = []
    for (let i = 0; i < this.#takenOut.length; i += 2) {
      const [at, ticks] = [this.#takenOut[i]!, this.#takenOut[i + 1]!]
      if (!builder.takeOut(thread, this.began, at, ticks)) left.push(at, ticks)
    }
    return left
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
          break
        case COUNTED:
          builder.counted(a)
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
