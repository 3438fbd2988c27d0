// Durations of all outermost root calls: a histogram, and the values per second (`Course`).
//
// The duration of a call equals its time in the tree. It excludes stalls by jfluid, pauses, unmounted time and probe costs (JFluid report,
// section 5.3). The durations therefore sum to the root's total, unless probe costs were measured again after calls (decision 158). The
// builder reports begin and end of each call and the excluded times. These reports do not slow down the loop over events, since the entry
// of a root is already a special case.

import { type Calibration, rootProbeTicks } from '../base/compensation.ts'
import { type Buckets, bucketOf, bucketStart, Histogram } from '../regions/histogram.ts'
import { percentileOf } from '../regions/times.ts'
import { ClassNames } from './class-names.ts'
import type { Course, CourseState } from './course.ts'
import { type SlowBounds, type SlowBuilders, SlowCalls, type SlowWanted } from './slow-calls.ts'

/** The current root call of a thread. */
export class RootClock {
  readonly thread: number
  isOpen = false
  /** Id of the root. */
  method = 0
  begin = 0
  /** Excluded ticks since the start of the call. */
  excluded = 0
  /** Number of entries, exits and catches in the call, including the root's entry and exit. Each of these events is half a probe pair. */
  halves = 0
  /** Number of the class of the exception that ends the call; -1 if none does. */
  threw = -1

  constructor(thread: number) {
    this.thread = thread
  }

  open(method: number, ticks: number): void {
    this.isOpen = true
    this.method = method
    this.begin = ticks
    this.excluded = this.halves = 0
    this.threw = -1
  }
}

/** Minimum number of calls for which a p99 is computed. */
const MIN_P99_CALLS = 100
/** Number of finished calls that are kept, since a pause may arrive after the end of a call. */
const MAX_LATEST = 4096

/** A finished call from which a pause was subtracted. */
export interface CorrectedCall {
  /** Index of the call among all calls of the recording, from 0. */
  readonly call: number
  /** Durations as in the histogram, in ticks. */
  readonly before: number
  readonly after: number
  /** Ticks that were subtracted. */
  readonly ticks: number
}

/** Finished root calls, in ticks. */
export interface LatestCalls {
  /** Durations of the calls, in the order in which the calls ended. */
  readonly times: readonly number[]
  /** Probe cost in each call, including the cost of the root's own probes. `times` excludes the probe cost. */
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
  /** Number of calls that an exception ended, per class: number of the class and number of calls, most frequent first. */
  readonly threw: readonly (readonly [thrown: number, calls: number])[]
}

export class RootCalls {
  readonly histogram = new Histogram()
  /** Number of calls that an exception ended, keyed by the number of the exception's class. */
  readonly #threw = new Map<number, number>()
  /** Sum of the exact durations, including fractions and negative durations, so that the sum equals the total in the trees. */
  #sum = 0
  /** Names of the classes of exceptions that ended root calls. */
  readonly thrownNames = new ClassNames()
  /** Null unless slow calls are recorded. */
  slow: SlowCalls | null = null
  /** Receives calls from which a pause is subtracted after their end; null if there is no receiver. */
  corrected: ((it: CorrectedCall) => void) | null = null
  /** Number of calls at which p99 is next computed; `#p99` is the current p99. */
  #p99At = MIN_P99_CALLS
  #p99 = Number.POSITIVE_INFINITY
  /** Clocks indexed by thread number. */
  readonly #clocks: (RootClock | undefined)[] = []
  // The following arrays are a ring buffer of the latest calls.
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
    /** Number of events of each call that are not written by a probe: those of a row of a value. */
    private readonly eventsWithoutProbe = 0,
  ) {}

  /** Number of finished calls. */
  get ended(): number {
    return this.#ended
  }

  clockOf(thread: number): RootClock {
    const known = this.#clocks[thread]
    if (known !== undefined) return known
    const clock = new RootClock(thread)
    this.#clocks[thread] = clock
    return clock
  }

  /** Starts recording trees of slow calls that begin from now on. Replaces an earlier recording; the numbering continues. */
  keepSlow(wanted: SlowWanted, builders: SlowBuilders, bounds?: SlowBounds): void {
    const facts = { p99: () => this.#p99Ticks(), now: () => this.course.elapsedMs }
    this.slow = new SlowCalls(wanted, builders, facts, bounds, this.slow?.ended)
  }

  /** Current p99. Recomputed each time the number of calls has grown by 5 %. */
  #p99Ticks(): number {
    const { count } = this.histogram
    if (count < this.#p99At) return this.#p99
    this.#p99At = Math.max(count + 1, count * 1.05)
    const { min, max } = this.histogram
    const value = percentileOf({ count, min, max, buckets: this.histogram.buckets() }, 0.99)
    // p99 is known only up to its bucket. The upper bound of the bucket is used, so that calls in this bucket do not count as slower.
    this.#p99 = bucketStart(bucketOf(Math.floor(value)) + 1)
    return this.#p99
  }

  /** Records the end of a thread's root call. */
  end(clock: RootClock, ticks: number): void {
    clock.isOpen = false
    const halves = clock.halves - this.eventsWithoutProbe
    const probes = rootProbeTicks(halves, this.calibration)
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
    if (clock.threw >= 0) this.#threw.set(clock.threw, (this.#threw.get(clock.threw) ?? 0) + 1)
    this.slow?.end(clock, time, call, ticks, halves, probes)
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
      if (this.#ends[i]! <= at) return // `at` lies between two calls
      const [before, after] = [this.#times[i]!, this.#times[i]! - ticks]
      this.#times[i] = after
      this.#sum -= ticks
      this.histogram.remove(wholeOf(before))
      this.histogram.record(wholeOf(after))
      this.course.correct(this.#seconds[i]!, wholeOf(before), wholeOf(after))
      this.slow?.correct(call, { at, ticks }, after)
      this.corrected?.({ call, before: wholeOf(before), after: wholeOf(after), ticks })
      return
    }
  }

  /** Restarts counting. Calls in progress are not counted when they end. */
  reset(): void {
    for (const clock of this.#clocks) if (clock !== undefined) clock.isOpen = false
    this.histogram.clear()
    this.#threw.clear()
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
    const threw = [...this.#threw].sort(([, a], [, b]) => b - a)
    return { count, min, max, sum: this.#sum, buckets: this.histogram.buckets(), threw }
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
  /** Unit of the costs in the trees. */
  readonly unit: 'ns' | 'bytecodes'
  readonly count: number
  /** Sum of all durations, including negative durations, so that the sum equals the total in the trees. */
  readonly total: number
  readonly min: number
  readonly mean: number
  readonly max: number
  /** Percentiles, accurate to 0.4 %. The keys are percentages. */
  readonly percentiles: Readonly<Record<RootPercentile, number>>
  readonly buckets: readonly CallBucket[]
  /** Number of calls that an exception ended, per class, most frequent first. Absent if there are none. */
  readonly threw?: readonly { readonly class: string; readonly calls: number }[]
}

/** One value per second, as in `CourseState`. Durations of calls are in the unit of root calls, stalls and pauses in ns. */
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

/**
 * @param nsPerTick   ns per tick, for trees of times. Executed bytecodes are not converted
 * @param thrownName  returns the name of a class of exceptions by its number
 */
export function rootCallTimes(
  state: RootCallsState,
  unit: RootCallTimes['unit'],
  nsPerTick: number,
  thrownName: (thrown: number) => string = String,
): RootCallTimes {
  const scale = unit === 'ns' ? nsPerTick : 1
  const { count, sum, min, max, buckets, threw } = state
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
    ...(threw.length > 0 && {
      threw: threw.map(([thrown, calls]) => ({ class: thrownName(thrown), calls })),
    }),
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
