// How long each outermost call of a root took: all of them in a histogram, and their course.
//
// A call's time is what its tree has of it: neither what its thread waited for us, nor what it stood still in pauses or was
// unmounted, nor what the probes cost (JFluid report, section 5.3). So the calls add up to the root's total. The builder
// tells when a call begins and ends, and what in between is nobody's; it costs the loop over events nothing, as both is known from where
// a thread enters its root.

import { type Calibration, rootProbeTicks } from '../base/compensation.ts'
import { type Buckets, bucketOf, bucketStart, Histogram } from '../regions/histogram.ts'
import { percentileOf } from '../regions/times.ts'
import type { Course, CourseState } from './course.ts'
import { type SlowBounds, type SlowBuilders, SlowCalls, type SlowThreshold } from './slow-calls.ts'

/** The root call that a thread is in. */
export class RootClock {
  readonly thread: number
  isOpen = false
  /** Id of the root. */
  method = 0
  begin = 0
  /** Ticks since then that are nobody's. */
  excluded = 0
  /** Enters, exits and catches since then, its own among them: each is half a pair of probes. */
  halves = 0

  constructor(thread: number) {
    this.thread = thread
  }

  open(method: number, ticks: number): void {
    this.isOpen = true
    this.method = method
    this.begin = ticks
    this.excluded = this.halves = 0
  }
}

/** Calls before which there is no p99. */
const LEAST_CALLS = 100
/** Calls that a pause may still be taken out of when they have ended. */
const LATEST = 4096

/** Calls of roots that have ended, in ticks. */
export interface LatestCalls {
  /** In the order in which they ended. */
  readonly times: readonly number[]
  /** What probes took in each, the root's own among them: it has been taken out of its time. */
  readonly probes: readonly number[]
}

/** Times in ticks. */
export interface RootCallsState {
  /** Calls that have ended. */
  readonly count: number
  readonly sum: number
  /** Not finite while there is none. */
  readonly min: number
  readonly max: number
  readonly buckets: Buckets
}

export class RootCalls {
  readonly histogram = new Histogram()
  /** Of times with their fractions and signs, so that it is the trees' own. */
  #sum = 0
  /** Null unless they are asked for. */
  slow: SlowCalls | null = null
  /** Calls from which on p99 is found anew, and what it was. */
  #p99At = LEAST_CALLS
  #p99 = Number.POSITIVE_INFINITY
  /** By thread number. */
  readonly #clocks: (RootClock | undefined)[] = []
  // The latest calls.
  #ended = 0
  readonly #threads = new Int32Array(LATEST)
  readonly #begins = new Float64Array(LATEST)
  readonly #ends = new Float64Array(LATEST)
  readonly #times = new Float64Array(LATEST)
  readonly #seconds = new Int32Array(LATEST)
  readonly #probes = new Float64Array(LATEST)

  constructor(
    private readonly calibration: Calibration,
    private readonly course: Course,
  ) {}

  clockOf(thread: number): RootClock {
    const known = this.#clocks[thread]
    if (known !== undefined) return known
    const clock = new RootClock(thread)
    this.#clocks[thread] = clock
    return clock
  }

  /** Keeps trees of slow calls from now on, of those that begin. Anew, if some were kept; their numbers go on. */
  keepSlow(threshold: SlowThreshold, builders: SlowBuilders, bounds?: SlowBounds): void {
    const facts = { p99: () => this.#p99Ticks(), now: () => this.course.elapsedMs }
    this.slow = new SlowCalls(threshold, builders, facts, bounds, this.slow?.ended)
  }

  /** Above it is one call of a hundred; found anew when there are a twentieth more calls. */
  #p99Ticks(): number {
    const { count } = this.histogram
    if (count < this.#p99At) return this.#p99
    this.#p99At = Math.max(count + 1, count * 1.05)
    const { min, max } = this.histogram
    const value = percentileOf({ count, min, max, buckets: this.histogram.buckets() }, 0.99)
    // Calls of its own bucket are not above it.
    this.#p99 = bucketStart(bucketOf(Math.floor(value)) + 1)
    return this.#p99
  }

  /** The call that the thread is in has ended. */
  end(clock: RootClock, ticks: number): void {
    clock.isOpen = false
    const probes = rootProbeTicks(clock.halves, this.calibration)
    const time = ticks - clock.begin - clock.excluded - probes
    const whole = wholeOf(time)
    const call = this.#ended++
    const at = call % LATEST
    this.#sum += time
    this.histogram.record(whole)
    this.#threads[at] = clock.thread
    this.#begins[at] = clock.begin
    this.#ends[at] = ticks
    this.#times[at] = time
    this.#probes[at] = probes
    this.#seconds[at] = this.course.record(whole)
    this.slow?.end(clock, time, call)
  }

  /**
   * A pause was in the time of a thread, whether its call has ended or not.
   *
   * @param at     a tick in that call
   * @param ticks  negative if it was none after all
   */
  takeOut(thread: number, at: number, ticks: number): void {
    const clock = this.clockOf(thread)
    if (!clock.isOpen || clock.begin > at) {
      this.#correct(thread, at, ticks)
      return
    }
    clock.excluded += ticks
    this.slow?.takeOut(clock, { at, ticks })
  }

  #correct(thread: number, at: number, ticks: number): void {
    for (let call = this.#ended - 1; call >= Math.max(0, this.#ended - LATEST); call--) {
      const i = call % LATEST
      if (this.#threads[i] !== thread || this.#begins[i]! > at) continue
      if (this.#ends[i]! <= at) return // it is between two calls
      const [before, after] = [this.#times[i]!, this.#times[i]! - ticks]
      this.#times[i] = after
      this.#sum -= ticks
      this.histogram.remove(wholeOf(before))
      this.histogram.record(wholeOf(after))
      this.course.correct(this.#seconds[i]!, wholeOf(before), wholeOf(after))
      this.slow?.correct(call, { at, ticks }, after)
      return
    }
  }

  /** Begins anew; calls that go on are not counted when they end. */
  reset(): void {
    for (const clock of this.#clocks) if (clock !== undefined) clock.isOpen = false
    this.histogram.clear()
    this.#sum = this.#ended = 0
    this.#p99At = LEAST_CALLS
    this.#p99 = Number.POSITIVE_INFINITY
  }

  /** Of the latest calls, those that began at `fromTicks` or later. */
  latest(fromTicks: number): LatestCalls {
    const times: number[] = []
    const probes: number[] = []
    for (let call = Math.max(0, this.#ended - LATEST); call < this.#ended; call++) {
      const at = call % LATEST
      if (this.#begins[at]! < fromTicks) continue
      times.push(this.#times[at]!)
      probes.push(this.#probes[at]!)
    }
    return { times, probes }
  }

  state(): RootCallsState {
    const { count, min, max } = this.histogram
    return { count, min, max, sum: this.#sum, buckets: this.histogram.buckets() }
  }
}

/** What a histogram takes: less than nothing is nothing. */
function wholeOf(time: number): number {
  return Math.max(0, Math.round(time))
}

/** Calls that took from `from` to below `to`. */
export type CallBucket = readonly [from: number, to: number, count: number]

export const ROOT_PERCENTILES = ['50', '90', '95', '99', '99.9'] as const
export type RootPercentile = (typeof ROOT_PERCENTILES)[number]

/** Outermost calls of roots that have ended. Times in `unit`; 0 while there is none. */
export interface RootCallTimes {
  /** What the trees of the mode count. */
  readonly unit: 'ns' | 'bytecodes'
  readonly count: number
  /** With signs, so that it adds up with the trees. */
  readonly total: number
  readonly min: number
  readonly mean: number
  readonly max: number
  /** To 0.4 %; the keys are per cent. */
  readonly percentiles: Readonly<Record<RootPercentile, number>>
  readonly buckets: readonly CallBucket[]
}

/** One value a second, as in `CourseState`; calls in the unit of root calls, waiting and pauses in ns. */
export interface CourseTimes {
  /** Seconds of the recording before the first. */
  readonly first: number
  /** Absent where root calls are not timed. */
  readonly rootCalls?: {
    readonly calls: Float64Array
    /** Absent in profiles of versions that did not keep it. */
    readonly mean?: Float64Array
    readonly p50: Float64Array
    readonly p95: Float64Array
    readonly max: Float64Array
  }
  readonly events: Float64Array
  readonly waitNs: Float64Array
  readonly pauses: Float64Array
  readonly pauseNs: Float64Array
}

/** @param nsPerTick  of a tick of trees of times; what was executed is counted, and has none */
export function rootCallTimes(
  state: RootCallsState,
  unit: RootCallTimes['unit'],
  nsPerTick: number,
): RootCallTimes {
  const scale = unit === 'ns' ? nsPerTick : 1
  const { count, sum, min, max, buckets } = state
  const percentiles = Object.fromEntries(
    ROOT_PERCENTILES.map((it) => [it, count === 0 ? 0 : percentileOf(state, Number(it) / 100) * scale]),
  ) as Record<RootPercentile, number>
  return {
    ...{ unit, count, total: sum * scale, percentiles },
    ...(count === 0
      ? { min: 0, mean: 0, max: 0 }
      : { min: min * scale, mean: (sum * scale) / count, max: max * scale }),
    buckets: Array.from(buckets.bucket, (bucket, i) => [
      bucketStart(bucket) * scale,
      bucketStart(bucket + 1) * scale,
      buckets.count[i]!,
    ]),
  }
}

export function courseTimes(
  state: CourseState,
  unit: RootCallTimes['unit'] | null,
  nsPerTick: number,
): CourseTimes {
  const scaled = (values: Float64Array, scale: number) => values.map((it) => it * scale)
  const { first, calls, events } = state
  const scale = unit === 'ns' ? nsPerTick : 1
  const ofCalls = {
    ...{ calls, mean: scaled(state.mean, scale), p50: scaled(state.p50, scale) },
    ...{ p95: scaled(state.p95, scale), max: scaled(state.max, scale) },
  }
  return {
    first,
    ...(unit !== null && { rootCalls: ofCalls }),
    events,
    waitNs: scaled(state.wait, nsPerTick),
    pauses: state.pauses,
    pauseNs: scaled(state.paused, nsPerTick),
  }
}
