// Converts traced calls for output: times of method entries and exits, without probe costs.
//
// The clock of a thread stops during stalls by jfluid and during redefinitions. Each probe pair's cost is subtracted where it occurred: t_I
// from the call itself, t_O from the caller (base/compensation.ts). An interval shorter than the cost becomes 0. The rest of the cost is
// subtracted from the next interval of the same call, or, if there is none, from the caller. Time is therefore monotonic, and a call's
// total is exactly its self time plus the totals of its callees. A call has the same total as in the tree, unless it is shorter than its
// own probes.
//
// Calls inside a wait are part of the wait, as in the tree. The cost of probes in exception handlers is not subtracted.

import { type Calibration, owedTicks } from '../base/compensation.ts'
import type { TakenOut } from './pauses.ts'
import type { SlowCalls } from './slow-calls.ts'
import {
  RAW_EXIT,
  RAW_STOOD,
  RAW_SUBMIT,
  type RawCall,
  type RawPause,
  type RawTrack,
  Tracer,
} from './tracer.ts'
import type { ThreadTree } from './tree.ts'
import { isValueRow, type ValueRows } from './value-rows.ts'

/** Event code: the innermost frame's method ends. */
export const LEAVE = 0

/**
 * Events of one thread in a call. The first track of a call contains the events of the thread that called the root. Each further track
 * contains the events of one piece of submitted work.
 * An event is the id of an entered method, LEAVE, or -k for the submission of the work in track k. Every entered method has a LEAVE. Times
 * never decrease.
 */
export interface TraceTrack<T = TraceThread> {
  readonly thread: T
  readonly events: Int32Array
  /** Time of each event, in nanoseconds since the start of the call. */
  readonly times: Float64Array
}

export type TraceThread = Pick<ThreadTree, 'id' | 'name'>

/**
 * `whole`: all work of the call has ended. `open`: when the recording ended, some work of the call was unfinished or had not started.
 * `cut`: the limit of events was reached.
 */
export type TraceState = 'whole' | 'open' | 'cut'

export const TRACE_STATES: readonly TraceState[] = ['whole', 'open', 'cut']

export interface TracedCall<T = TraceThread> {
  /** Start of the call, in nanoseconds since the start of the recording. */
  readonly startNs: number
  readonly state: TraceState
  /** Number of the slow call in the list of slow calls; absent if the first calls are traced. */
  readonly slowCall?: number
  /** Tracks of the call; there is at least one. */
  readonly tracks: readonly TraceTrack<T>[]
}

export interface Trace<T = TraceThread> {
  /** Number of requested calls. */
  readonly asked: number
  /** Traced calls, in the order in which they began. */
  readonly calls: readonly TracedCall<T>[]
  /** Present if the traced calls are the slowest calls instead of the first calls. */
  readonly ofSlow?: {
    /** Number of calls among the slowest calls without a trace, because they had more events than the log of a call holds. */
    readonly tooLong: number
  }
  /** Number of recorded events, if the limit of events was reached; otherwise absent. */
  readonly cutAfter?: number
  /** Number of traced calls left out because their data are inconsistent; absent if 0. */
  readonly leftOut?: number
}

export interface TraceOptions {
  readonly calibration: Calibration
  readonly nsPerTick: number
  /** Session ticks at the start of the recording. */
  readonly beginTicks: number
  /** Lower ids stand for waiting. Default: 1. */
  readonly firstMethod?: number
  /** Rows of values (--by). Default: none. */
  readonly valueRows?: ValueRows | undefined
}

/** Minimum time between two events that is checked for a redefinition. Same value as in thread-stack.ts. */
const GAP_TICKS = 50_000
/** Bit mask: number of events between two calls of `alive`. */
const ALIVE_EVENTS = 8191

/**
 * Returns the calls that a tracer has recorded so far. An unfinished call ends with its latest event.
 * @param alive called every few milliseconds; it may pass more events to the tracer
 */
export function traceOf(tracer: Tracer, options: TraceOptions, alive: () => void = () => {}): Trace<number> {
  // Events are read thread by thread, so the kept calls may be in another order.
  const inOrder = tracer.kept.toSorted((a, b) => a.root.ticks[0]! - b.root.ticks[0]!)
  const calls = inOrder.map((call) => {
    alive()
    return tracedCall(call, tracer.pauses, options, alive)
  })
  let events = 0
  for (const { tracks } of calls) for (const it of tracks) events += it.events.length
  return { asked: tracer.asked, calls, ...(tracer.isCut && { cutAfter: events }) }
}

/**
 * Returns the traces of the slowest of the slow calls, from the logs of their events. Which calls are the slowest is known only at the end,
 * so the logs are read when the trace is requested.
 * @param asked  maximum number of calls
 */
export function slowTraceOf(
  slow: SlowCalls,
  asked: number,
  options: TraceOptions,
  alive: () => void = () => {},
): Trace<number> {
  const wanted = slow.slowestLogs.slice(0, asked)
  const withEvents = wanted.filter((it) => it.log.builder === null)
  const tracer = new Tracer(slow.builderOfOne(), asked)
  // The slowest call is first: if the limit of events is reached, faster calls are cut.
  for (const { number, thread, log } of withEvents) {
    const before = tracer.kept.length
    log.replay(tracer, thread)
    const call = tracer.kept[before]
    if (call === undefined) break
    call.slowCall = number
    call.takenOut = log.takenOut
  }
  return { ...traceOf(tracer, options, alive), ofSlow: { tooLong: wanted.length - withEvents.length } }
}

function tracedCall(
  call: RawCall,
  pauses: readonly RawPause[],
  { calibration, nsPerTick, beginTicks, firstMethod = 1, valueRows }: TraceOptions,
  alive: () => void,
): TracedCall<number> {
  const firsts = firstTicks(call)
  /** Index of each task's track, from 1. */
  const places = new Map<number, number>()
  const order = [{ raw: call.root, first: call.root.ticks[0]! }]
  for (const [task, raw] of call.tasks.entries()) {
    const first = firsts[task]!
    if (raw === null || Number.isNaN(first)) continue
    places.set(task, order.length)
    order.push({ raw, first })
  }
  // Computed before the tracks are read, since more events may arrive during `alive`.
  const isOpen = call.pending > 0 || order.some(({ raw }) => !raw.isOver && raw.stack.length > 0)
  const starts = new Float64Array(order.length)
  const tracks: TraceTrack<number>[] = []
  for (const [place, { raw, first }] of order.entries()) {
    if ((place & 255) === 255) alive()
    const paused = call.takenOut ? takenOutIn(raw, call.takenOut) : pausesIn(raw, first, pauses)
    const clock = new TrackClock(raw, first, paused, { calibration, firstMethod, valueRows })
    const { events, times } = clock.run((task) => places.get(task), alive)
    // A track is processed before the tracks of the work that it submits, so it also has a lower index.
    for (const handed of clock.handed) {
      const to = places.get(handed.task)
      const taken = to === undefined ? undefined : order[to]
      if (to === undefined || taken === undefined) continue
      const at = handedAt(handed, taken.first)
      times[handed.event] = at.time
      starts[to] = starts[place]! + at.time + at.waited
    }
    const from = starts[place]!
    for (let i = 0; i < times.length; i++) times[i] = (from + times[i]!) * nsPerTick
    tracks.push({ thread: raw.thread, events, times })
  }
  return {
    startNs: Math.max(0, (call.root.ticks[0]! - beginTicks) * nsPerTick),
    state: call.isCut ? 'cut' : isOpen ? 'open' : 'whole',
    ...(call.slowCall !== undefined && { slowCall: call.slowCall }),
    tracks: notBackwards(tracks),
  }
}

/**
 * Returns the start of each task: the entry of its first method, or, if the task only submits work, the start of that work. NaN for an
 * empty task. A task is submitted after its submitter has begun, and has a higher number than its submitter.
 */
function firstTicks({ tasks }: RawCall): Float64Array {
  const firsts = new Float64Array(tasks.length).fill(Number.NaN)
  for (let task = tasks.length - 1; task >= 0; task--) {
    const raw = tasks[task]
    if (raw === null || raw === undefined) continue
    let handed = Number.NaN
    for (let at = 0; at < raw.count; at++) {
      const code = raw.codes[at]!
      if (code > RAW_EXIT) {
        firsts[task] = raw.ticks[at]!
        break
      }
      const first = code <= RAW_SUBMIT ? firsts[RAW_SUBMIT - code]! : Number.NaN
      if (!(first >= handed)) handed = Number.isNaN(first) ? handed : first
    }
    if (Number.isNaN(firsts[task]!)) firsts[task] = handed
  }
  return firsts
}

/** Makes times monotonic: a submission time that is later than the next event is lowered to the time of the next event. */
function notBackwards(tracks: TraceTrack<number>[]): TraceTrack<number>[] {
  for (const { times } of tracks) {
    for (let i = times.length - 2; i >= 0; i--) if (times[i]! > times[i + 1]!) times[i] = times[i + 1]!
  }
  return tracks
}

interface HandedOver {
  readonly task: number
  /** Index of the submitting event in its track. */
  readonly event: number
  /** Times of the thread's events before and after the submission, on the clock of the event buffer (`ticks`) and of the track (`time`). */
  readonly before: { readonly ticks: number; readonly time: number }
  after: { readonly ticks: number; readonly time: number }
}

/**
 * Estimates the time of a submission, which has no timestamp. The latest possible time is used: the time of the thread's next event, or the
 * start of the submitted work, if this is earlier.
 * @returns the time on the track's clock, and how long the work waited for its start
 */
function handedAt({ before, after }: HandedOver, firstTicks: number): { time: number; waited: number } {
  if (firstTicks >= after.ticks) return { time: after.time, waited: firstTicks - after.ticks }
  const late = Math.max(0, firstTicks - before.ticks)
  return { time: Math.min(before.time + late, after.time), waited: 0 }
}

/** Processes a raw track in one pass. Not recursive, since a call can be 100,000 frames deep. */
class TrackClock {
  readonly handed: HandedOver[] = []

  /**
   * @param first   start of the clock, in ticks
   * @param paused  maps an event of the raw track to the ticks of redefinitions in the gap before it
   */
  constructor(
    private readonly raw: RawTrack,
    private readonly first: number,
    private readonly paused: ReadonlyMap<number, number>,
    private readonly options: Required<Pick<TraceOptions, 'calibration' | 'firstMethod' | 'valueRows'>>,
  ) {}

  /** @param placeOf returns the track index of a task; undefined if the task has no track in this call */
  run(
    placeOf: (task: number) => number | undefined,
    alive: () => void,
  ): { events: Int32Array; times: Float64Array } {
    const { codes, ticks, count } = this.raw
    const { calibration, firstMethod, valueRows } = this.options
    const ofCall = owedTicks(1, 0, calibration)
    const ofCallOut = owedTicks(0, 1, calibration)
    const ofCallInWait = owedTicks(1, 1, calibration)
    const events = new Int32Array(count + this.raw.stack.length)
    const times = new Float64Array(events.length)
    /** Per stack depth: probe cost that must still be subtracted from the time of the frame. */
    const owed: number[] = []
    const methods: number[] = []
    let hidden = 0 // number of frames inside a wait
    let made = 0
    let stood = 0
    let last = this.first
    let now = 0
    let waiting: HandedOver[] = []
    const put = (event: number): void => {
      events[made] = event
      times[made++] = now
    }
    const charge = (until: number, at: number): void => {
      const net = Math.max(0, until - last - stood - (this.paused.get(at) ?? 0))
      const top = owed.length - 1
      const due = top < 0 ? 0 : owed[top]!
      now += Math.max(0, net - due)
      if (top >= 0) owed[top] = Math.max(0, due - net)
      last = until
      stood = 0
      for (const handed of waiting) handed.after = { ticks: until, time: now }
      if (waiting.length > 0) waiting = []
    }
    const leave = (): void => {
      put(LEAVE)
      const rest = owed.pop() ?? 0
      methods.pop()
      if (owed.length > 0) owed[owed.length - 1]! += rest
    }
    for (let at = 0; at < count; at++) {
      if ((at & ALIVE_EVENTS) === ALIVE_EVENTS) alive()
      const code = codes[at]!
      if (code === RAW_STOOD) stood += ticks[at]!
      else if (code <= RAW_SUBMIT) {
        const task = RAW_SUBMIT - code
        const place = placeOf(task)
        if (place === undefined) continue
        const moment = { ticks: last, time: now }
        const handed = { task, event: made, before: moment, after: moment }
        this.handed.push(handed)
        waiting.push(handed)
        put(-place)
      } else if (code === RAW_EXIT) {
        charge(ticks[at]!, at)
        if (hidden > 0) hidden--
        else leave()
      } else {
        const top = owed.length - 1
        const inWait = top >= 0 && methods[top]! < firstMethod
        if (top >= 0) owed[top]! += inWait ? ofCallInWait : ofCallOut
        // No probe has written the entry of this row: the row owes the cost of the root's probe instead of the root.
        if (top >= 0 && isValueRow(code, valueRows)) owed[top]! -= ofCallOut + ofCall
        charge(ticks[at]!, at)
        if (inWait) hidden++
        else {
          put(code)
          owed.push(ofCall)
          methods.push(code)
        }
      }
    }
    while (methods.length > 0) leave()
    return { events: events.slice(0, made), times: times.slice(0, made) }
  }
}

/**
 * Assigns each redefinition to one gap between two events, the gap with the largest overlap, as the builder does. In a gap with a stall,
 * the stall is the last part.
 */
function pausesIn(raw: RawTrack, from: number, pauses: readonly RawPause[]): Map<number, number> {
  const found = new Map<number, number>()
  const { codes, ticks, count } = raw
  // A redefinition stops all threads, so redefinitions never overlap.
  const inside = pauses.filter(({ end }) => end > from).sort((a, b) => a.start - b.start)
  if (inside.length === 0) return found
  const best = inside.map(() => ({ at: -1, ticks: 0 }))
  let next = 0 // index of the first pause that had not ended at the last event
  let last = from
  let stood = 0
  for (let at = 0; at < count; at++) {
    const code = codes[at]!
    if (code === RAW_STOOD) stood += ticks[at]!
    if (code < 0) continue
    const until = ticks[at]! - stood
    if (until - last >= GAP_TICKS) {
      while (next < inside.length && inside[next]!.end <= last) next++
      for (let i = next; i < inside.length; i++) {
        const pause = inside[i]!
        if (pause.start >= until) break
        const overlap = Math.min(until, pause.end) - Math.max(last, pause.start)
        if (overlap > best[i]!.ticks) best[i] = { at, ticks: overlap }
      }
    }
    last = ticks[at]!
    stood = 0
  }
  for (const { at, ticks: taken } of best) if (at >= 0) found.set(at, (found.get(at) ?? 0) + taken)
  return found
}

/** Assigns the pauses that the builder has subtracted to the gaps from which it has subtracted them. */
function takenOutIn({ codes, ticks, count }: RawTrack, takenOut: readonly TakenOut[]): Map<number, number> {
  const found = new Map<number, number>()
  const sorted = takenOut.toSorted((a, b) => a.at - b.at)
  let next = 0
  for (let at = 0; at < count && next < sorted.length; at++) {
    if (codes[at]! < 0) continue
    for (; next < sorted.length && sorted[next]!.at < ticks[at]!; next++)
      found.set(at, (found.get(at) ?? 0) + sorted[next]!.ticks)
  }
  return found
}
