// Decodes 64-bit words and calls a sink.
//
// This module interprets the events of one writer. `ring.ts` finds the words in memory. `ring-reader.ts` decides which writer is read next,
// and whether a thread's next segment may begin. Nearly all events are enters and exits; the sink itself loops over these
// (`CctBuilder.calls`).

import { EX_SOFTWARE, JfluidError } from '../base/errors.ts'
import { HIGH_TICKS_MASK, KIND_SHIFT, MAX_EPOCHS, METHOD_MASK, METHOD_SHIFT } from './event-halves.ts'
import * as layout from './event-layout.ts'

/**
 * Receiver of events. It gets only the kinds of events for which it has a method. The methods are called often, so all arguments are
 * scalars. Ticks are session ticks, exact below 2^53 (see MAX_EPOCHS), and never less than the ticks of the previous event.
 */
export interface EventSink
  extends Partial<CallSink & SampleSink & HandOverSink & AllocationSink & RootCallSink> {
  /**
   * Consumes adjacent enters and exits of the current thread, oldest first. The low half of a word precedes the high half.
   * This is one loop, since a function call per event would cost a third of the total time.
   *
   * @param from index of the first event in `words`
   * @param to   index after the last event
   * @param base session ticks to be added to the ticks in the words
   * @returns `to`, or the index of the first event that is not an enter or exit
   */
  calls(words: Uint32Array, from: number, to: number, base: number): number
  /** Since the last event, the thread has waited `ticks` for jfluid. */
  adjust(ticks: number): void
}

/** Events that change a thread's position in its calls, or stop its clock. */
interface CallSink {
  /** The thread is in an exception handler of this method: frames above the method's nearest frame have ended without an exit. */
  caught(method: number, ticks: number): void
  /**
   * The following events belong to this thread.
   *
   * @param segment -1 if the thread is the writer. Otherwise the writer is the carrier of a virtual thread, and `segment` is the number,
   * modulo 2^16, of the virtual thread's segment
   */
  thread(number: number, segment: number): void
  suspend(ticks: number): void
  resume(ticks: number): void
  /** The next `enter` is an outermost root call: the thread is outside all roots. */
  root(): void
  /** The next `enter` of the thread is a call from this site; 0 means no site. If an enter follows, `calls` may consume the two words. */
  site(site: number): void
  /** A StackOverflowError has left this method. It is the first instrumented method with enough stack to record the error. */
  overflow(method: number): void
}

interface SampleSink {
  /** The innermost `frames` frames of the last sample are gone. The frames entered next replace them. */
  unwind(frames: number): void
  /**
   * The thread is in the current frame. `weight` depends on the sampler: bytecodes since the last sample, or ticks since the sample was
   * due.
   */
  sample(weight: number): void
}

/** Work that one thread submits to another thread. */
interface HandOverSink {
  /** The thread submits work from its current position. */
  submit(token: number): void
  /**
   * Returns whether `begin` of this token may be delivered: the `submit` of the token was delivered, but no `drop`. A sink without this
   * method gets every `begin`.
   */
  knows(token: number): boolean
  /** The thread begins the work: later enters are calls from the position of the `submit`. Token 0: the thread has ended its work. */
  begin(token: number): void
  /** No thread will begin this work. */
  drop(token: number): void
}

interface AllocationSink {
  /** One UTF-16 unit of an allocated class's name. */
  className(id: number, at: number, unit: number): void
  /** A root call ends; its EXIT follows. `bytes` is the number of bytes that it has allocated, as counted by the JVM. */
  allocated(bytes: number): void
  /** An object of this class was allocated at the thread's current position. `token` identifies the object as long as it lives. */
  track(classId: number, token: number): void
}

/** Details of outermost root calls. */
interface RootCallSink {
  /**
   * Part of a detail of the outermost root call of the thread that has just ended.
   *
   * @param slot 0 to 31; SLOT_DETAILS is the first part of a call
   * @param kind 0 to 7; the kind defines how `data` is read
   * @param data 32 bits without a sign
   */
  value(slot: number, kind: number, data: number): void
  /** An exception of the class with this number ends the outermost root call of the thread; its EXIT follows. */
  threw(classNumber: number): void
}

/** State of a writer's decoder between two calls of `decodeEvents`. */
export class WriterState {
  readonly writer: number
  /** First tick of the current epoch. */
  base = 0
  /** Thread to which the current events belong. `segment` is the thread's current segment, or -1 if the thread is the writer itself. */
  thread: number
  segment = -1
  /** Whether the last call of `decodeEvents` stopped at a THREAD or BEGIN that may not be read yet. */
  held = false
  /** Number of enter and exit events. */
  events = 0
  /** Time of the last enter, exit or catch. */
  lastTicks = 0

  constructor(writer: number) {
    this.writer = writer
    this.thread = writer
  }

  /** Sets the state for a new chunk: the chunk's header contains the epoch, and the first events belong to the writer itself. */
  startChunk(epoch: number): void {
    this.base = epoch * 2 ** layout.TICK_BITS
    this.thread = this.writer
    this.segment = -1
  }
}

/** Delays an event of one writer until the events of other writers that must be read earlier have been read. */
export interface ThreadGate {
  /** Returns whether this segment may be read now. May feed events of other writers to the sink. */
  mayBegin(by: WriterState, thread: number, segment: number): boolean
  /** Returns whether the SUBMIT of this token has been read, so that its BEGIN may be read. */
  mayTakeUp(token: number): boolean
}

/** Thrown for a word in the buffer that no version of the target's runtime writes. */
export class UnknownEvent extends JfluidError {
  static sample = () => new UnknownEvent(3, 17, 64, 0xdead, 0xbeef)
  readonly exitCode = EX_SOFTWARE
  readonly hint =
    'Attach again, and report this message: something in the JVM has overwritten the event buffer.'
  constructor(writer: number, sequence: number, offset: number, high: number, low: number) {
    const word = high.toString(16).padStart(8, '0') + low.toString(16).padStart(8, '0')
    super(
      `the event buffer contains the unknown event 0x${word}, of writer ${writer}, chunk ${sequence}, offset ${offset}`,
    )
  }
}

const TWO_32 = 2 ** 32

/**
 * Passes adjacent events of one writer to `sink`, oldest first.
 *
 * Hot path: the sink's `calls` handles every method call in the target, the other code handles only other events. Nothing
 * is allocated (test: "decoding allocates nothing"; benchmark: test/bench/decode.mjs). A word is read as two halves,
 * since a BigInt would cost one heap object per event.
 *
 * @param words the buffer; the low half of an event precedes the high half
 * @param from  index of the first event in `words`
 * @param to    index after the last event
 * @returns `to`, or the index of the first event that was not consumed: a zero word, an unknown event,
 *          or a THREAD or BEGIN that `gate` delays (`state.held`)
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

/** Handles a control event. @returns whether the event was consumed */
function control(high: number, low: number, state: WriterState, sink: EventSink, gate: ThreadGate): boolean {
  const payload = (high & HIGH_TICKS_MASK) * TWO_32 + low
  switch ((high >>> METHOD_SHIFT) & METHOD_MASK) {
    case layout.CONTROL_EPOCH:
      if (payload >= MAX_EPOCHS) return false
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
    case layout.CONTROL_VALUE: {
      const slot = Math.floor(payload / 2 ** layout.VALUE_SLOT_SHIFT)
      sink.value?.(slot, high & (2 ** (layout.VALUE_SLOT_SHIFT - layout.VALUE_KIND_SHIFT) - 1), low)
      return true
    }
    case layout.CONTROL_THREW:
      sink.threw?.(payload)
      return true
    default:
      return false
  }
}
