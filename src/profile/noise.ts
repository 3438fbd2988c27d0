// Noise of a comparison: how far the costs of two recordings of the same program differ by chance. The noise is estimated from parts of
// each side: from several recordings, or from segments of one recording.
//
// A cost per root call is a quotient of two sums over the parts. Its variance follows from the differences of the parts' quotients,
// weighted by the parts' divisors. Percentiles are no quotients: their variance is that of the percentiles without one part at a time
// (jackknife). The noise is three standard errors of a difference, or more if there are few parts: the quantile of Student's distribution
// with a probability of 99 %.

import type { CallBucket } from '../cct/root-calls.ts'

/** Minimum number of parts of one recording. Fewer segments are too few to estimate a variance. */
export const MIN_SEGMENTS = 4

/** A quotient of one part: a cost and its divisor, as the number of root calls. */
export interface Quotient {
  readonly cost: number
  readonly by: number
}

/** Variance of an estimate, and the number of parts that it was computed from. */
export interface Variance {
  readonly variance: number
  readonly parts: number
}

/** Number of standard errors of a difference that count as noise. */
export const STANDARD_ERRORS = 3

/** Quantiles of Student's distribution (99 %, two-sided) for 1, 2, … degrees of freedom; with more degrees the quantile is below 3. */
const STUDENT_99 = [63.7, 9.92, 5.84, 4.6, 4.03, 3.71, 3.5, 3.36, 3.25, 3.17, 3.11, 3.05, 3.01]

/** Returns the variance of a quotient of sums over parts; null with fewer than two parts that have a divisor. */
export function varianceOf(parts: readonly Quotient[]): Variance | null {
  const counted = parts.filter(({ by }) => by > 0)
  const k = counted.length
  if (k < 2) return null
  const sum = (of: (part: Quotient) => number): number => counted.reduce((all, it) => all + of(it), 0)
  const divisor = sum(({ by }) => by)
  const mean = sum(({ cost }) => cost) / divisor
  const squares = sum(({ cost, by }) => (cost - mean * by) ** 2)
  return { variance: (squares / divisor ** 2) * (k / (k - 1)), parts: k }
}

/** Returns the noise of the difference of two estimates; null if the variance of one of them is unknown. */
export function noiseOf(before: Variance | null, after: Variance | null): number | null {
  if (before === null || after === null) return null
  const freedom = before.parts + after.parts - 2
  const errors = Math.max(STANDARD_ERRORS, STUDENT_99[freedom - 1] ?? 0)
  return errors * Math.sqrt(before.variance + after.variance)
}

/** A histogram in order of its durations, and the number of calls of each part in each bucket. */
interface Merged {
  readonly buckets: readonly CallBucket[]
  readonly ofPart: readonly ReadonlyMap<CallBucket, number>[]
}

/** Merges histograms. Parts may have different buckets, since their clocks have different units. */
function mergedBuckets(parts: readonly (readonly CallBucket[])[]): Merged {
  const known = new Map<string, { bucket: [number, number, number]; of: number[] }>()
  for (const [part, buckets] of parts.entries()) {
    for (const [from, to, count] of buckets) {
      const key = `${from} ${to}`
      const found = known.get(key) ?? { bucket: [from, to, 0], of: [] }
      found.bucket[2] += count
      found.of[part] = (found.of[part] ?? 0) + count
      known.set(key, found)
    }
  }
  const sorted = [...known.values()].sort((a, b) => a.bucket[0] - b.bucket[0])
  return {
    buckets: sorted.map(({ bucket }) => bucket),
    ofPart: parts.map((_, part) => new Map(sorted.map(({ bucket, of }) => [bucket, of[part] ?? 0]))),
  }
}

/** Returns percentiles of a histogram, with `without` subtracted. @param shares  ascending, from 0 to 1 */
function percentilesOf(
  buckets: readonly CallBucket[],
  shares: readonly number[],
  without?: ReadonlyMap<CallBucket, number>,
): number[] {
  const left = (bucket: CallBucket): number => bucket[2] - (without?.get(bucket) ?? 0)
  const count = buckets.reduce((sum, it) => sum + left(it), 0)
  const found: number[] = []
  let below = 0
  for (const bucket of buckets) {
    const [from, to] = bucket
    const here = left(bucket)
    while (found.length < shares.length && below + here >= shares[found.length]! * count && here > 0) {
      const inside = Math.min(1, Math.max(0, (shares[found.length]! * count - below) / here))
      found.push(from + (to - from) * inside)
    }
    below += here
  }
  return found
}

/** A percentile of all parts, and its variance; null if unknown. */
export interface Percentile {
  readonly value: number
  readonly variance: Variance | null
}

/**
 * Returns percentiles of the durations of several parts. Empty without calls.
 * @param shares  ascending, from 0 to 1
 */
export function percentilesOfParts(
  parts: readonly (readonly CallBucket[])[],
  shares: readonly number[],
): Percentile[] {
  const called = parts.filter((it) => it.length > 0)
  const { buckets, ofPart } = mergedBuckets(called)
  const k = called.length
  const without = k < 2 ? [] : ofPart.map((it) => percentilesOf(buckets, shares, it))
  return percentilesOf(buckets, shares).map((value, at) => {
    const values = without.map((it) => it[at]!)
    const mean = values.reduce((sum, it) => sum + it, 0) / k
    const squares = values.reduce((sum, it) => sum + (it - mean) ** 2, 0)
    return { value, variance: k < 2 ? null : { variance: (squares * (k - 1)) / k, parts: k } }
  })
}
