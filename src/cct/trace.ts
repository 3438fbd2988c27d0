// Traced calls as others read them: when each method was entered and left, without what the probes cost.
//
// The times of a thread are those of a clock that stands whenever nobody's time passes: while the thread waits for us,
// and during redefinitions. What a pair of probes costs is taken out where it was spent: t_I out of the call itself, t_O
// out of its caller (base/compensation.ts). A stretch that is shorter than what must be taken out becomes 0, and the rest is
// owed by the same call's next one, or at last by its caller's. So time never runs backwards, self time and callees make
// the caller exactly, and a call has the same total as in the tree, unless it is shorter than its own probes.
// What calls inside a wait take is part of the wait, as in the tree. A handler's half of a pair is not known here.

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

/** A call of the innermost frame's method ends. */
export const LEAVE = 0

/**
 * What one thread did for a call. The first track of a call is that of the thread which called the root; a further one is
 * work that was handed over inside the call.
 *
 * An event is the id of a method that is entered, LEAVE, or -k where the work of the call's track k is handed over. Every
 * frame is left. Times never decrease.
 */
export interface TraceTrack<T = TraceThread> {
  readonly thread: T
  readonly events: Int32Array
  /** By event: nanoseconds since the beginning of the call. */
  readonly times: Float64Array
}

export type TraceThread = Pick<ThreadTree, 'id' | 'name'>

/**
 * `whole`: all its threads have done what they had to; `open`: one of them had not, when recording ended, or had not even
 * begun; `cut`: there was no room for more events.
 */
export type TraceState = 'whole' | 'open' | 'cut'

export const TRACE_STATES: readonly TraceState[] = ['whole', 'open', 'cut']

export interface TracedCall<T = TraceThread> {
  /** Since recording began. */
  readonly startNs: number
  readonly state: TraceState
  /** At least one. */
  readonly tracks: readonly TraceTrack<T>[]
}

export interface Trace<T = TraceThread> {
  /** How many calls were asked for. */
  readonly asked: number
  /** In the order in which they began. */
  readonly calls: readonly TracedCall<T>[]
  /** After so many events there was no more room; absent if there was. */
  readonly cutAfter?: number
  /** Traced calls that are not in it, as they contradict themselves; absent if there are none. */
  readonly leftOut?: number
}

export interface TraceOptions {
  readonly calibration: Calibration
  readonly nsPerTick: number
  /** Session ticks when recording began. */
  readonly beginTicks: number
  /** Ids below stand for waiting; 1, unless given. */
  readonly firstMethod?: number
}

/** Time between two events from which on it may contain a redefinition; as in the builder. */
const GAP_TICKS = 50_000
/** So many events are read between two signs of life: a mask. */
const ALIVE_EVENTS = 8191

/**
 * What a tracer has kept so far, by thread number. Calls that have not ended are shown up to their latest event.
 *
 * @param alive called every few milliseconds; more events may come to the tracer in it
 */
export function traceOf(tracer: Tracer, options: TraceOptions, alive: () => void = () => {}): Trace<number> {
  // Threads are read one after the other: what began later may have been read first.
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
  /** By task: where it stands among the tracks, from 1 on. */
  const places = new Map<number, number>()
  const order = [{ raw: call.root, first: call.root.ticks[0]! }]
  for (const [task, raw] of call.tasks.entries()) {
    const first = firsts[task]!
    if (raw === null || Number.isNaN(first)) continue
    places.set(task, order.length)
    order.push({ raw, first })
  }
  // Before anything is read: more may come meanwhile.
  const isOpen = call.pending > 0 || order.some(({ raw }) => !raw.isOver && raw.stack.length > 0)
  const starts = new Float64Array(order.length)
  const tracks: TraceTrack<number>[] = []
  for (const [place, { raw, first }] of order.entries()) {
    if ((place & 255) === 255) alive()
    const clock = new TrackClock(raw, first, pauses, calibration, firstMethod)
    const { events, times } = clock.run((task) => places.get(task), alive)
    // What hands work over is read before what takes it up: a track comes after the one it is from.
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
 * When the work of each task began: with its first method, or, if it only hands work over, with the first of that. NaN
 * for a task of which there is nothing to show. A task is handed over after the one that does so has begun, and has the
 * greater number.
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

/** Events lie in their order; what was handed over late among them as late as the next one allows. */
function notBackwards(tracks: TraceTrack<number>[]): TraceTrack<number>[] {
  for (const { times } of tracks) {
    for (let i = times.length - 2; i >= 0; i--) if (times[i]! > times[i + 1]!) times[i] = times[i + 1]!
  }
  return tracks
}

interface HandedOver {
  readonly task: number
  /** Which event says so. */
  readonly event: number
  /** When the thread's events before and after it were: by the ring, and by the track's clock. */
  readonly before: { readonly ticks: number; readonly time: number }
  after: { readonly ticks: number; readonly time: number }
}

/**
 * A hand-over has no time of its own. It is taken to be as late as it can have been: at the thread's next event, or when
 * the work began, if that was earlier.
 *
 * @returns when it was by the track's clock, and how long the work waited then
 */
function handedAt({ before, after }: HandedOver, firstTicks: number): { time: number; waited: number } {
  if (firstTicks >= after.ticks) return { time: after.time, waited: firstTicks - after.ticks }
  const late = Math.max(0, firstTicks - before.ticks)
  return { time: Math.min(before.time + late, after.time), waited: 0 }
}

/** Runs through a raw track once. Nothing recurses: a call can be 100,000 deep. */
class TrackClock {
  readonly handed: HandedOver[] = []
  /** By event of the raw track: ticks of redefinitions before it. */
  readonly #paused: Map<number, number>

  /** @param first ticks where its clock begins */
  constructor(
    private readonly raw: RawTrack,
    private readonly first: number,
    pauses: readonly RawPause[],
    private readonly calibration: Calibration,
    private readonly firstMethod: number,
  ) {
    this.#paused = pausesIn(raw, first, pauses)
  }

  /** @param placeOf of a task among the call's tracks; undefined if it is none of them */
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
    /** By depth: what is still to be taken out of a frame's time. */
    const owed: number[] = []
    const methods: number[] = []
    let hidden = 0 // frames inside a wait
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
 * Of each redefinition, the gap between two events that it fills most of: see the builder. The thread's own waiting comes
 * last in a gap.
 */
function pausesIn(raw: RawTrack, from: number, pauses: readonly RawPause[]): Map<number, number> {
  const found = new Map<number, number>()
  const { codes, ticks, count } = raw
  // A redefinition stops all threads: none begins before the one before it has ended.
  const inside = pauses.filter(({ end }) => end > from).sort((a, b) => a.start - b.start)
  if (inside.length === 0) return found
  const best = inside.map(() => ({ at: -1, ticks: 0 }))
  let next = 0 // of those that had not ended at the last event
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
