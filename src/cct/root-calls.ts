// Durations of all outermost root calls: a histogram, and their course.
//
// The duration of a call equals its time in the tree. It excludes stalls by jfluid, pauses, unmounted time and probe costs (JFluid report,
// section 5.3). The calls therefore sum to the root's total. The builder reports begin and end of each call and the excluded times. This
// has no cost in the loop over events, since the entry of a root is already a special case.

import { type Calibration, rootProbeTicks } from '../base/compensation.ts'
import { type Buckets, bucketOf, bucketStart, Histogram } from '../regions/histogram.ts'
import { percentileOf } from '../regions/times.ts'
import type { Course, CourseState } from './course.ts'
import { type SlowBounds, type SlowBuilders, SlowCalls, type SlowThreshold } from './slow-calls.ts'

/** The current root call of a thread. */
export class RootClock {
  readonly thread: number
  isOpen = false
  /** Id of the root. */
  method = 0
  begin = 0
  /** Excluded ticks since the start of the call. */
  excluded = 0
  /** Entries, exits and catches since the start of the call, including its own. Each of these events is half a probe pair. */
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

/** Minimum number of calls for a p99. */
const MIN_P99_CALLS = 100
/** Number of finished calls kept for late pauses. */
const MAX_LATEST = 4096

/** Finished root calls, in ticks. */
export interface LatestCalls {
  /** In the order in which the calls ended. */
  readonly times: readonly number[]
  /** Probe cost in each call, including the root's own probes. The times exclude this cost. */
  readonly probes: readonly number[]
}

/** Times in ticks. */
export interface RootCallsState {
  /** Number of finished calls. */
  readonly count: number
  readonly sum: number
  /** Shortest duration; not finite if there are no calls. */
  readonly min: number
  readonly max: number
  readonly buckets: Buckets
}

export class RootCalls {
  readonly histogram = new Histogram()
  /** Sum of the exact times, including fractions and negative values, so that the sum equals that of the trees. */
  #sum = 0
  /** Null unless slow calls are recorded. */
  slow: SlowCalls | null = null
  /** Number of calls that triggers the next computation of p99, and the current p99. */
  #p99At = MIN_P99_CALLS
  #p99 = Number.POSITIVE_INFINITY
  /** Clocks indexed by thread number. */
  readonly #clocks: (RootClock | undefined)[] = []
  // Ring buffer of the latest calls.
  #ended = 0
  readonly #threads = new Int32Array(MAX_LATEST)
  readonly #begins = new Float64Array(MAX_LATEST)
  readonly #ends = new Float64Array(MAX_LATEST)
  readonly #times = new Float64Array(MAX_LATEST)
  readonly #seconds = new Int32Array(MAX_LATEST)
  readonly #probes = new Float64Array(MAX_LATEST)

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

  /** Starts recording trees of slow calls that begin from now on. Replaces an earlier recording; the numbering continues. */
  keepSlow(threshold: SlowThreshold, builders: SlowBuilders, bounds?: SlowBounds): void {
    const facts = { p99: () => this.#p99Ticks(), now: () => this.course.elapsedMs }
    this.slow = new SlowCalls(threshold, builders, facts, bounds, this.slow?.ended)
  }

  /** Current p99. Recomputed each time the number of calls has grown by 5 %. */
  #p99Ticks(): number {
    const { count } = this.histogram
    if (count < this.#p99At) return this.#p99
    this.#p99At = Math.max(count + 1, count * 1.05)
    const { min, max } = this.histogram
    const value = percentileOf({ count, min, max, buckets: this.histogram.buckets() }, 0.99)
    // Calls in the same bucket as p99 are not slower than p99.
    this.#p99 = bucketStart(bucketOf(Math.floor(value)) + 1)
    return this.#p99
  }

  /** Records the end of a thread's root call. */
  end(clock: RootClock, ticks: number): void {
    clock.isOpen = false
    const probes = rootProbeTicks(clock.halves, this.calibration)
    const time = ticks - clock.begin - clock.excluded - probes
    const whole = wholeOf(time)
    const call = this.#ended++
    const at = call % MAX_LATEST
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
   * Subtracts a pause from a thread's root call, which may have ended already.
   * @param at     time within the call, in ticks
   * @param ticks  negative if an earlier subtraction is undone
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
    for (let call = this.#ended - 1; call >= Math.max(0, this.#ended - MAX_LATEST); call--) {
      const i = call % MAX_LATEST
      if (this.#threads[i] !== thread || this.#begins[i]! > at) continue
      if (this.#ends[i]! <= at) return // the time lies between two calls
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

  /** Restarts counting. Calls in progress are not counted when they end. */
  reset(): void {
    for (const clock of this.#clocks) if (clock !== undefined) clock.isOpen = false
    this.histogram.clear()
    this.#sum = this.#ended = 0
    this.#p99At = MIN_P99_CALLS
    this.#p99 = Number.POSITIVE_INFINITY
  }

  /** Returns the latest calls that began at `fromTicks` or later. */
  latest(fromTicks: number): LatestCalls {
    const times: number[] = []
    const probes: number[] = []
    for (let call = Math.max(0, this.#ended - MAX_LATEST); call < this.#ended; call++) {
      const at = call % MAX_LATEST
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

/** Rounds a time for the histogram; negative times become 0. */
function wholeOf(time: number): number {
  return Math.max(0, Math.round(time))
}

/** Number of calls with a duration from `from` (inclusive) to `to` (exclusive). */
export type CallBucket = readonly [from: number, to: number, count: number]

export const ROOT_PERCENTILES = ['50', '90', '95', '99', '99.9'] as const
export type RootPercentile = (typeof ROOT_PERCENTILES)[number]

/** Durations of finished outermost root calls, in `unit`; 0 without calls. */
export interface RootCallTimes {
  /** Unit of the trees of the mode. */
  readonly unit: 'ns' | 'bytecodes'
  readonly count: number
  /** Sum including negative values, so that it equals the sum of the trees. */
  readonly total: number
  readonly min: number
  readonly mean: number
  readonly max: number
  /** Percentiles, accurate to 0.4 %. The keys are percentages. */
  readonly percentiles: Readonly<Record<RootPercentile, number>>
  readonly buckets: readonly CallBucket[]
}

/** One value per second, as in `CourseState`. Calls in the unit of root calls, stalls and pauses in ns. */
export interface CourseTimes {
  /** Number of seconds of the recording before the first value. */
  readonly first: number
  /** Absent if root calls are not timed. */
  readonly rootCalls?: {
    readonly calls: Float64Array
    /** Absent in profiles of versions that did not record it. */
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

/** @param nsPerTick  ns per tick of trees of times. Executed bytecodes are counts, without ticks */
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
