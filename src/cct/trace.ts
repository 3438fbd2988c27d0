// Converts traced calls for output: times of method entries and exits, without probe costs.
//
// The clock of a thread stops during stalls by jfluid and during redefinitions. Each probe pair's cost is subtracted where it occurred: t_I
// from the call itself, t_O from the caller (base/compensation.ts). An interval shorter than the cost becomes 0. The rest of the cost is
// subtracted from the next interval of the same call, or finally from the caller. Time is therefore monotonic, self time plus callees
// equals the caller exactly, and a call has the same total as in the tree, unless the call is shorter than its own probes.
//
// Calls inside a wait are part of the wait, as in the tree. Probe halves in exception handlers are not known here.

import { type Calibration, owedTicks } from '../base/compensation.ts'
import {
  RAW_EXIT,
  RAW_STOOD,
  RAW_SUBMIT,
  type RawCall,
  type RawPause,
  type RawTrack,
  type Tracer,
} from './tracer.ts'
import type { ThreadTree } from './tree.ts'

/** Event code: the innermost frame's method ends. */
export const LEAVE = 0

/**
 * Events of one thread in a call. The first track of a call belongs to the thread that called the root. Each further track is work
 * submitted within the call.
 * An event is the id of an entered method, LEAVE, or -k for the submission of the work in track k. Every frame has a LEAVE. Times never
 * decrease.
 */
export interface TraceTrack<T = TraceThread> {
  readonly thread: T
  readonly events: Int32Array
  /** Nanoseconds since the start of the call, per event. */
  readonly times: Float64Array
}

export type TraceThread = Pick<ThreadTree, 'id' | 'name'>

/**
 * `whole`: all work of the call has ended. `open`: when recording ended, some work was unfinished or had not started. `cut`: the limit of
 * events was reached.
 */
export type TraceState = 'whole' | 'open' | 'cut'

export const TRACE_STATES: readonly TraceState[] = ['whole', 'open', 'cut']

export interface TracedCall<T = TraceThread> {
  /** Nanoseconds since the start of the recording. */
  readonly startNs: number
  readonly state: TraceState
  /** At least one track. */
  readonly tracks: readonly TraceTrack<T>[]
}

export interface Trace<T = TraceThread> {
  /** Number of requested calls. */
  readonly asked: number
  /** In the order in which the calls began. */
  readonly calls: readonly TracedCall<T>[]
  /** Number of events after which the limit was reached; absent if it was not reached. */
  readonly cutAfter?: number
  /** Number of traced calls left out because their data are inconsistent; absent if 0. */
  readonly leftOut?: number
}

export interface TraceOptions {
  readonly calibration: Calibration
  readonly nsPerTick: number
  /** Session ticks at the start of the recording. */
  readonly beginTicks: number
  /** Ids below this one stand for waiting. Default: 1. */
  readonly firstMethod?: number
}

/** Minimum time between two events that may contain a redefinition. Same value as in thread-stack.ts. */
const GAP_TICKS = 50_000
/** Bit mask: number of events between two calls of `alive`. */
const ALIVE_EVENTS = 8191

/**
 * Returns the calls kept by a tracer so far. Unfinished calls are shown up to their latest event.
 * @param alive called every few milliseconds; it may pass more events to the tracer
 */
export function traceOf(tracer: Tracer, options: TraceOptions, alive: () => void = () => {}): Trace<number> {
  // Threads are read one after the other, so the kept calls may be out of order.
  const inOrder = tracer.kept.toSorted((a, b) => a.root.ticks[0]! - b.root.ticks[0]!)
  const calls = inOrder.map((call) => {
    alive()
    return tracedCall(call, tracer.pauses, options, alive)
  })
  let events = 0
  for (const { tracks } of calls) for (const it of tracks) events += it.events.length
  return { asked: tracer.asked, calls, ...(tracer.isCut && { cutAfter: events }) }
}

function tracedCall(
  call: RawCall,
  pauses: readonly RawPause[],
  { calibration, nsPerTick, beginTicks, firstMethod = 1 }: TraceOptions,
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
    const clock = new TrackClock(raw, first, pauses, calibration, firstMethod)
    const { events, times } = clock.run((task) => places.get(task), alive)
    // The submitter is read before its submitted work, so a track follows the track that submitted it.
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
    tracks: notBackwards(tracks),
  }
}

/**
 * Returns the start of each task: its first method's entry, or, if it only submits work, the start of that work. NaN for an empty task. A
 * task is submitted after its submitter has begun, and has a higher number.
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

/** Makes times monotonic: a late submission time is lowered to the time of the next event. */
function notBackwards(tracks: TraceTrack<number>[]): TraceTrack<number>[] {
  for (const { times } of tracks) {
    for (let i = times.length - 2; i >= 0; i--) if (times[i]! > times[i + 1]!) times[i] = times[i + 1]!
  }
  return tracks
}

interface HandedOver {
  readonly task: number
  /** Index of the submitting event. */
  readonly event: number
  /** The thread's events before and after the submission, in ring ticks and in track time. */
  readonly before: { readonly ticks: number; readonly time: number }
  after: { readonly ticks: number; readonly time: number }
}

/**
 * Estimates the time of a submission, which has no timestamp. The latest possible time is used: the thread's next event, or the start of
 * the work if that is earlier.
 * @returns the time on the track's clock, and how long the work waited
 */
function handedAt({ before, after }: HandedOver, firstTicks: number): { time: number; waited: number } {
  if (firstTicks >= after.ticks) return { time: after.time, waited: firstTicks - after.ticks }
  const late = Math.max(0, firstTicks - before.ticks)
  return { time: Math.min(before.time + late, after.time), waited: 0 }
}

/** Processes a raw track in one pass. Not recursive, since a call can be 100,000 frames deep. */
class TrackClock {
  readonly handed: HandedOver[] = []
  /** Ticks of redefinitions before each event of the raw track. */
  readonly #paused: Map<number, number>

  /** @param first start of the clock, in ticks */
  constructor(
    private readonly raw: RawTrack,
    private readonly first: number,
    pauses: readonly RawPause[],
    private readonly calibration: Calibration,
    private readonly firstMethod: number,
  ) {
    this.#paused = pausesIn(raw, first, pauses)
  }

  /** @param placeOf returns the track index of a task; undefined if the task has no track in this call */
  run(
    placeOf: (task: number) => number | undefined,
    alive: () => void,
  ): { events: Int32Array; times: Float64Array } {
    const { codes, ticks, count } = this.raw
    const ofCall = owedTicks(1, 0, this.calibration)
    const ofCallOut = owedTicks(0, 1, this.calibration)
    const ofCallInWait = owedTicks(1, 1, this.calibration)
    const events = new Int32Array(count + this.raw.stack.length)
    const times = new Float64Array(events.length)
    /** Per depth: cost still to be subtracted from the frame's time. */
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
      const net = Math.max(0, until - last - stood - (this.#paused.get(at) ?? 0))
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
        const inWait = top >= 0 && methods[top]! < this.firstMethod
        if (top >= 0) owed[top]! += inWait ? ofCallInWait : ofCallOut
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
 * Assigns each redefinition to the gap between two events with the largest overlap, as the builder does. Within a gap, the thread's own
 * stall comes last.
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
