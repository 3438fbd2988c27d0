// From 64-bit words to calls of a sink.
//
// This module knows what an event means for the writer it comes from. Where the words lie is
// `ring.ts`; whose turn it is, and whether a thread's next segment may begin, is `ring-reader.ts`.
// Enters and exits are nearly all of them; their loop is the sink's own (`CctBuilder.calls`).

import { EX_SOFTWARE, JfluidError } from '../base/errors.ts'
import { HIGH_TICKS_MASK, KIND_SHIFT, METHOD_MASK, METHOD_SHIFT, MOST_EPOCHS } from './event-halves.ts'
import * as layout from './event-layout.ts'

/**
 * Receives events, those that it has a method for. Called often, so: scalars only, and nothing to keep. Ticks are session ticks, exact
 * below 2^53, and never fewer than those of the event before (see MOST_EPOCHS).
 */
export interface EventSink extends Partial<CallSink & SampleSink & HandOverSink & AllocationSink> {
  /**
   * Takes enters and exits of the present thread as long as they follow each other, oldest first: a word's low
   * half comes first. In one loop, because a call per event costs a third of all.
   *
   * @param from element where the first event lies
   * @param to   element after the last event
   * @param base session ticks of what the words' ticks count from
   * @returns `to`, or the element of the first event that is neither enter nor exit
   */
  calls(words: Uint32Array, from: number, to: number, base: number): number
  /** `ticks` of waiting for ourselves have passed since the last event. */
  adjust(ticks: number): void
}

/** Where in its calls a thread is, and when. */
interface CallSink {
  /** The thread is in a handler of this method: frames above its nearest one have ended without an exit. */
  caught(method: number, ticks: number): void
  /**
   * The events that follow belong to this thread.
   *
   * @param segment -1 if the thread writes for itself; else it is a virtual thread on a carrier, and
   *                this the number of its segment modulo 2^16
   */
  thread(number: number, segment: number): void
  suspend(ticks: number): void
  resume(ticks: number): void
  /** The next `enter` is a root entered from outside. */
  root(): void
  /** The next `enter` of the thread is a call from this site, 0 for none. `calls` may take these words, too, if an enter follows. */
  site(site: number): void
  /** A StackOverflowError has left this method, the first one with probes that had stack to say so. */
  overflow(method: number): void
}

interface SampleSink {
  /** So many of the frames that the last sample showed are no longer there. Those entered next take their place. */
  unwind(frames: number): void
  /** The thread is found where it is. What the weight is says who samples: bytecodes since the last, or ticks since it was due. */
  sample(weight: number): void
}

/** Work that one thread does for another. */
interface HandOverSink {
  /** The thread hands work over from where it is. */
  submit(token: number): void
  /** Whether `begin` of this token can be delivered: its `submit` was, and no `drop`. A sink without it takes every `begin`. */
  knows(token: number): boolean
  /** The thread takes up that work: what it enters from here on is called from there. 0: it lets go. */
  begin(token: number): void
  /** Nobody will take up that work. */
  drop(token: number): void
}

interface AllocationSink {
  /** One UTF-16 unit of the name of a class of which something was allocated. */
  className(id: number, at: number, unit: number): void
  /** The call of a root has ended, and the JVM says that it has allocated this. */
  allocated(bytes: number): void
  /** An object of this class, allocated where the thread is, goes by this token as long as it lives. */
  track(classId: number, token: number): void
}

/** What the decoder remembers of a writer between two pieces of its events. */
export class WriterState {
  readonly writer: number
  /** First tick of the present epoch. */
  base = 0
  /** Whose events are being read, and which segment of it; -1 if it is the writer itself. */
  thread: number
  segment = -1
  /** The last call stopped at a THREAD or BEGIN whose turn has not come. */
  held = false
  /** Enter and exit events so far. */
  events = 0
  /** Time of the last enter, exit or catch. */
  lastTicks = 0

  constructor(writer: number) {
    this.writer = writer
    this.thread = writer
  }

  /** A new chunk says anew what epoch it is, and starts with its writer's own events. */
  startChunk(epoch: number): void {
    this.base = epoch * 2 ** layout.TICK_BITS
    this.thread = this.writer
    this.segment = -1
  }
}

/** Keeps events of different writers in order, where one must be read before the other. */
export interface ThreadGate {
  /** Whether this segment may be read now. May feed events of other writers to the sink. */
  mayBegin(by: WriterState, thread: number, segment: number): boolean
  /** Whether the SUBMIT of this token has been read, so that its BEGIN may be. */
  mayTakeUp(token: number): boolean
}

/** A word in the buffer that no version of the target's runtime writes. */
export class UnknownEvent extends JfluidError {
  static sample = () => new UnknownEvent(3, 17, 64, 0xdead, 0xbeef)
  readonly exitCode = EX_SOFTWARE
  readonly hint = 'Detach, attach again, and please report this: the event buffer was overwritten.'
  constructor(writer: number, sequence: number, offset: number, high: number, low: number) {
    const word = high.toString(16).padStart(8, '0') + low.toString(16).padStart(8, '0')
    super(`unknown event 0x${word} of writer ${writer}, chunk ${sequence}, offset ${offset}`)
  }
}

const TWO_32 = 2 ** 32

/**
 * Feeds a piece of one writer's events to `sink`, oldest first.
 *
 * Hot: the sink's `calls` runs once per method call in the target, the rest for other events only. Nothing
 * is allocated (test: "decoding allocates nothing"; speed: test/bench/decode.mjs). A word is read as two halves
 * because a BigInt would cost one heap object per event.
 *
 * @param words the buffer; an event's low half comes first
 * @param from  element where the first event lies
 * @param to    element after the last event
 * @returns `to`, or the element of the first event that was not taken: a zero word, an event that is
 *          unknown, or a THREAD or BEGIN that `gate` does not let pass (`state.held`)
 */
export function decodeEvents(
  words: Uint32Array,
  from: number,
  to: number,
  state: WriterState,
  sink: EventSink,
  gate: ThreadGate,
): number {
  state.held = false
  sink.thread?.(state.thread, state.segment)
  let base = state.base
  let ticks = state.lastTicks
  let controls = 0
  let at = from
  for (; at < to; at += 2) {
    const stop = sink.calls(words, at, to, base)
    if (stop > at) {
      at = stop
      ticks = base + (words[at - 1] & HIGH_TICKS_MASK) * TWO_32 + words[at - 2]
      if (at === to) break
    }
    const high = words[at + 1]
    const kind = high >>> KIND_SHIFT
    if (kind === layout.KIND_CATCH) {
      const method = (high >>> METHOD_SHIFT) & METHOD_MASK
      if (method === 0) break
      ticks = base + (high & HIGH_TICKS_MASK) * TWO_32 + words[at]
      sink.caught?.(method, ticks)
      controls++
    } else {
      if (kind !== layout.KIND_CONTROL || !control(high, words[at], state, sink, gate)) break
      base = state.base
      controls++
    }
  }
  state.events += (at - from) / 2 - controls
  state.lastTicks = ticks
  return at
}

/** @returns whether the event was taken */
function control(high: number, low: number, state: WriterState, sink: EventSink, gate: ThreadGate): boolean {
  const payload = (high & HIGH_TICKS_MASK) * TWO_32 + low
  switch ((high >>> METHOD_SHIFT) & METHOD_MASK) {
    case layout.CONTROL_EPOCH:
      if (payload >= MOST_EPOCHS) return false
      state.base = payload * 2 ** layout.TICK_BITS
      return true
    case layout.CONTROL_THREAD: {
      const thread = payload % 2 ** layout.THREAD_NUMBER_BITS
      if (thread === 0) return false
      const own = thread === state.writer
      const segment = own ? -1 : Math.floor(payload / 2 ** layout.THREAD_NUMBER_BITS)
      if (!own && !gate.mayBegin(state, thread, segment)) {
        state.held = true
        return false
      }
      state.thread = thread
      state.segment = segment
      sink.thread?.(thread, segment)
      return true
    }
    case layout.CONTROL_ADJUST:
      sink.adjust(payload)
      return true
    case layout.CONTROL_SUSPEND:
      sink.suspend?.(state.base + payload)
      return true
    case layout.CONTROL_RESUME:
      sink.resume?.(state.base + payload)
      return true
    case layout.CONTROL_ROOT:
      sink.root?.()
      return true
    case layout.CONTROL_UNWIND:
      sink.unwind?.(payload)
      return true
    case layout.CONTROL_SAMPLE:
      sink.sample?.(payload)
      return true
    case layout.CONTROL_SITE:
      sink.site?.(payload)
      return true
    case layout.CONTROL_OVERFLOW:
      sink.overflow?.(low)
      return true
    case layout.CONTROL_SUBMIT:
      sink.submit?.(payload)
      return true
    case layout.CONTROL_BEGIN:
      if (!gate.mayTakeUp(payload)) {
        state.held = true
        return false
      }
      sink.begin?.(payload)
      return true
    case layout.CONTROL_DROP:
      sink.drop?.(payload)
      return true
    case layout.CONTROL_NAME: {
      const at = (low >>> layout.NAME_AT_SHIFT) & (2 ** (layout.NAME_CLASS_SHIFT - layout.NAME_AT_SHIFT) - 1)
      sink.className?.(Math.floor(payload / 2 ** layout.NAME_CLASS_SHIFT), at, low & 0xffff)
      return true
    }
    case layout.CONTROL_ALLOCATED:
      sink.allocated?.(payload)
      return true
    case layout.CONTROL_TRACK:
      sink.track?.(
        Math.floor(payload / 2 ** layout.NAME_CLASS_SHIFT),
        low & (2 ** layout.NAME_CLASS_SHIFT - 1),
      )
      return true
    default:
      return false
  }
}
