// Records the events of a thread's root call for a later replay. Events are copied in runs.

import { KIND_SHIFT, METHOD_MASK, METHOD_SHIFT } from '../events/event-halves.ts'
import { KIND_ENTER } from '../events/event-layout.ts'
import type { CctBuilder } from './builder.ts'
import type { TakenOut } from './pauses.ts'

/** Maximum number of elements of a thread's log: 2 MiB, 262,144 events. */
const MAX_WORDS = 2 ** 19
const MAX_STRETCHES = 2 ** 18
const FIRST_WORDS = 1024
/** Capacity kept between calls, in elements. */
const KEPT_WORDS = 2 ** 16
/** Bytes of a number in a growing array. */
const NUMBER_BYTES = 8
/** Approximate bytes of the objects that one call needs, and of a pause that is subtracted from the call. */
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

/** Receiver of the events of a log. */
type CallSink = Pick<
  CctBuilder,
  'thread' | 'root' | 'calls' | 'adjust' | 'suspend' | 'resume' | 'caught' | 'site'
>

/** Log of a thread's current root call. */
export class CallLog {
  words: Uint32Array
  used = 0
  stretches: number[] = []
  /** Builder that receives the events of the call directly, after the call has outgrown the log. */
  builder: CctBuilder | null = null
  /** Bytes of the builder after its last event. */
  builderBytes = 0
  /** Whether the call has exceeded its memory limit, so that its log was discarded. */
  isTooLarge = false
  /** Whether the log existed when the call began, so that the log is complete. */
  isWhole = false
  /** Whether the call may become a slow call: the threshold was known when the call began. */
  mayBeSlow = false
  /** Id of the first call inside the root; 0 if there is none. */
  first = 0
  /** Start of the call in ticks. */
  began = 0
  /** Pauses subtracted from the call's duration, but not yet from the tree of the call's own builder (if it has one). */
  #takenOut: TakenOut[] = []

  constructor(words = new Uint32Array(FIRST_WORDS)) {
    this.words = words
  }

  clear(): void {
    this.forget()
    if (this.words.length > KEPT_WORDS) this.words = new Uint32Array(FIRST_WORDS)
    this.builder = null
    this.builderBytes = 0
    this.isTooLarge = this.isWhole = this.mayBeSlow = false
    this.first = 0
    this.#takenOut = []
  }

  /** Discards the log after it has been read. */
  forget(): void {
    this.used = 0
    this.stretches = []
  }

  giveUp(): void {
    const { mayBeSlow, first } = this
    this.clear()
    this.words = new Uint32Array(FIRST_WORDS)
    this.isTooLarge = this.isWhole = true
    this.mayBeSlow = mayBeSlow
    this.first = first
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
    if (this.builder === null && this.used < 4 && this.used + count >= 4) this.#findFirst()
    this.stretches.push(CALLS, this.used, this.used + count, base)
    this.used += count
  }

  #findFirst(): void {
    const high = this.words[3]!
    if (high >>> KIND_SHIFT === KIND_ENTER) this.first = (high >>> METHOD_SHIFT) & METHOD_MASK
  }

  /** Moves the logged events into the call's own builder. */
  readMeanwhile(builder: CctBuilder, thread: number): void {
    this.tell(builder, thread)
    this.builder = builder
    this.builderBytes = builder.bytes
    this.#takenOut = []
    this.forget()
  }

  /** Subtracts the pauses in the call's own builder, if there is one. Precondition: that builder has received all events. */
  settle(thread: number): void {
    if (this.builder === null) return
    for (const takenOut of this.#takenOut) this.builder.takeOut(thread, this.began, takenOut)
    this.#takenOut = []
  }

  /** Replays all events in a builder, as events of `thread`. The builder then has the same contexts as the builder of all calls. */
  tell(builder: CctBuilder, thread: number): void {
    builder.awaitGaps(thread, this.began, this.#takenOut)
    this.#tellEvents(builder, thread)
    builder.takeOutAwaited()
  }

  /** Pauses subtracted from the call's duration. */
  get takenOut(): readonly TakenOut[] {
    return this.#takenOut
  }

  /** Replays all events, and subtracts no pause. Precondition: the call has no builder of its own. */
  replay(sink: CallSink, thread: number): void {
    this.#tellEvents(sink, thread)
  }

  #tellEvents(builder: CallSink, thread: number): void {
    const { stretches, words } = this
    builder.thread(thread, -1)
    if (this.builder === null) builder.root() // the end of the thread's previous call may be lost
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
    copy.first = this.first
    copy.#takenOut = this.#takenOut
    return copy
  }
}
