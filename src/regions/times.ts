// Output data of a region: its durations in ns, with probe costs subtracted.

import { type Calibration, exactTime } from '../base/compensation.ts'
import type { RegionState } from './builder.ts'
import { bucketStart } from './histogram.ts'

/** Number of executions with durations of at least `fromNs` and below `toNs`. If both are equal, all these durations are equal to them. */
export type TimeBucket = readonly [fromNs: number, toNs: number, count: number]

/** Executions in one interval of the recording. */
export interface Interval {
  readonly count: number
  readonly totalNs: number
  readonly maxNs: number
}

/** Durations of one region. All numbers are 0 if there are no executions. */
export interface Durations {
  readonly count: number
  readonly totalNs: number
  readonly minNs: number
  readonly meanNs: number
  readonly maxNs: number
  /** Percentiles of the durations, keyed by percentage, with an error of at most 0.4 %. */
  readonly percentilesNs: Readonly<Record<Percentile, number>>
  /** End of the first and of the last execution, in ms since the start of the recording; null if there are no executions. */
  readonly firstMs: number | null
  readonly lastMs: number | null
  readonly buckets: readonly TimeBucket[]
  /** Latest 1,024 durations, oldest first. */
  readonly lastNs: readonly number[]
  /** Length of an interval, ms, and all intervals of the recording. */
  readonly intervalMs: number
  readonly intervals: readonly Interval[]
}

export const PERCENTILES = ['50', '90', '95', '99', '99.9', '99.99'] as const
export type Percentile = (typeof PERCENTILES)[number]

export interface TickScale {
  readonly calibration: Calibration
  readonly nsPerTick: number
}

const NOTHING: Omit<Durations, 'intervalMs' | 'intervals'> = {
  ...{ count: 0, totalNs: 0, minNs: 0, meanNs: 0, maxNs: 0, firstMs: null, lastMs: null },
  percentilesNs: percentiles(() => 0),
  buckets: [],
  lastNs: [],
}

export const NO_DURATIONS: Durations = { ...NOTHING, intervalMs: 500, intervals: [] }

function percentiles(of: (part: number) => number): Record<Percentile, number> {
  const entries = PERCENTILES.map((percent) => [percent, of(Number(percent) / 100)] as const)
  return Object.fromEntries(entries) as Record<Percentile, number>
}

export function durationsOf(state: RegionState, { calibration, nsPerTick }: TickScale): Durations {
  const { count, sum, begunAt, intervalMs } = state
  // A duration that would become negative becomes 0. t_O of inner regions is not subtracted, since it is unknown which regions ran inside.
  const total = (ticks: number, executions: number) =>
    Math.max(0, exactTime(ticks, executions, 0, calibration)) * nsPerTick
  const ns = (ticks: number) => total(ticks, 1)
  const intervals = Array.from(state.counts, (executions, i) => ({
    count: executions,
    totalNs: total(state.sums[i]!, executions),
    maxNs: executions === 0 ? 0 : ns(state.maxima[i]!),
  }))
  if (count === 0) return { ...NOTHING, intervalMs, intervals }
  const buckets = bucketsOf(state, ns)
  const [minNs, maxNs] = [ns(state.min), ns(state.max)]
  const totalNs = total(sum, count)
  return {
    ...{ count, totalNs, minNs, maxNs, meanNs: totalNs / count, buckets, intervalMs, intervals },
    percentilesNs: percentiles((part) => ns(percentileOf(state, part))),
    firstMs: Math.max(0, state.firstAt - begunAt),
    lastMs: Math.max(0, state.lastAt - begunAt),
    lastNs: Array.from(state.last, ns),
  }
}

function bucketsOf({ buckets }: RegionState, ns: (ticks: number) => number): TimeBucket[] {
  const found: TimeBucket[] = []
  buckets.bucket.forEach((bucket, i) => {
    const from = ns(bucketStart(bucket))
    const to = ns(bucketStart(bucket + 1))
    const before = found.at(-1)
    // All durations that are 0 after the subtraction are in one bucket.
    if (to === 0 && before !== undefined) found[found.length - 1] = [0, 0, before[2] + buckets.count[i]!]
    else found.push([from, to, buckets.count[i]!])
  })
  return found
}

/** Returns a percentile in ticks: the middle of the bucket that contains the execution of this rank, but not below `min` or above `max`. */
export function percentileOf(
  { buckets, count, min, max }: Pick<RegionState, 'buckets' | 'count' | 'min' | 'max'>,
  part: number,
): number {
  // For example, the rank of 0.999 in 1,000 executions is 999. The subtraction compensates for floating-point errors.
  let left = Math.max(1, Math.ceil(part * count - 1e-9 * count))
  for (let i = 0; i < buckets.bucket.length; i++) {
    left -= buckets.count[i]!
    if (left > 0) continue
    const bucket = buckets.bucket[i]!
    const middle = (bucketStart(bucket) + bucketStart(bucket + 1) - 1) / 2
    return Math.min(max, Math.max(min, middle))
  }
  return max
}
