// Changes of the root calls themselves: their rate, their mean cost, and percentiles of their durations. A comparison begins with them.

import type { CallBucket, RootCallTimes, RootPercentile } from '../cct/root-calls.ts'
import type { Metric } from '../measures/columns.ts'
import { rootCalls } from './compare.ts'
import { noiseOf, percentilesOfParts, varianceOf } from './noise.ts'
import { type Profile, rootTotal } from './profile.ts'

const PERCENTILES = [
  ['p50', 0.5, '50'],
  ['p95', 0.95, '95'],
  ['p99', 0.99, '99'],
] as const
const SHARES = PERCENTILES.map(([, share]) => share)

/** `rate`: root calls per second. `mean`: cost of a root call, in units of the metric. `p50` and so on: durations, in `unit`. */
export type LeadKey = 'rate' | 'mean' | (typeof PERCENTILES)[number][0]

export interface LeadChange {
  readonly key: LeadKey
  readonly before: number
  readonly after: number
  readonly unit: 'calls per second' | RootCallTimes['unit'] | 'cost'
  /** Largest difference that is expected by chance; 0 for counts, null if unknown. */
  readonly noise: number | null
}

/** Share of a duration by which a percentile differs from the exact one, since it is known only up to its bucket. */
const BUCKET_SHARE = 0.004

/** A side of a comparison. */
export interface Side {
  readonly whole: Profile
  /** The whole profile, or several recordings of which it is the sum, or its segments. */
  readonly parts: readonly Profile[]
}

/**
 * Returns the changes of the root calls. Without durations, only the changes of rate and mean cost. Empty for samples, which contain no
 * numbers of calls.
 */
export function changedRootCalls(before: Side, after: Side, metric: Metric): LeadChange[] {
  if (metric.isSampled) return []
  const found: LeadChange[] = []
  const isCounted = !metric.isTime
  const quotients = (key: LeadKey, unit: LeadChange['unit'], of: (profile: Profile) => Part): void => {
    const [one, other] = [before.parts.map(of), after.parts.map(of)]
    // A reproducible profile contains no durations, so its rate is unknown.
    if ([one, other].some((parts) => parts.every(({ by }) => by === 0))) return
    const noise = noiseOf(varianceOf(one), varianceOf(other))
    const isCount = isCounted && key !== 'rate'
    // The mean is that of the rows, which may be of fewer segments than the noise.
    const [from, to] = key === 'mean' ? [[of(before.whole)], [of(after.whole)]] : [one, other]
    found.push({ key, unit, before: quotientOf(from), after: quotientOf(to), noise: isCount ? 0 : noise })
  }
  quotients('rate', 'calls per second', rateOf)
  quotients('mean', 'cost', (profile) => ({ cost: rootTotal(profile.merged), by: rootCalls(profile) }))
  const [one, other] = [bucketsOf(before.parts), bucketsOf(after.parts)]
  if (one === null || other === null || one.unit !== other.unit) return found
  const from = percentilesOfParts(one.parts, SHARES)
  const to = percentilesOfParts(other.parts, SHARES)
  for (const [at, [key, , told]] of PERCENTILES.entries()) {
    const a = from[at] && { ...from[at], ...toldBy(before.whole, told) }
    const b = to[at] && { ...to[at], ...toldBy(after.whole, told) }
    if (a === undefined || b === undefined) continue
    const noise = noiseOf(a.variance, b.variance)
    const least = BUCKET_SHARE * (a.value + b.value)
    found.push({
      ...{ key, unit: one.unit, before: a.value, after: b.value },
      noise: isCounted ? 0 : noise === null ? null : Math.max(noise, least),
    })
  }
  return found
}

/** Returns the percentile that the profile itself contains, so that a comparison and a report print the same number. */
function toldBy({ rootCalls: told }: Profile, percent: RootPercentile): { readonly value?: number } {
  return told === undefined ? {} : { value: told.percentiles[percent] }
}

interface Part {
  readonly cost: number
  readonly by: number
}

function quotientOf(parts: readonly Part[]): number {
  const sum = (of: 'cost' | 'by') => parts.reduce((all, it) => all + it[of], 0)
  return sum('by') > 0 ? sum('cost') / sum('by') : 0
}

/** Returns the root calls and the seconds in which they ended. */
function rateOf(profile: Profile): Part {
  const { course, durationMs, range, rootCalls: ended } = profile
  const calls = course?.rootCalls?.calls
  // The values per second of a range are those of whole seconds, which may be longer than the range.
  if (course === undefined || calls === undefined || range !== undefined)
    return { cost: ended?.count ?? rootCalls(profile), by: durationMs / 1000 }
  return {
    cost: calls.reduce((sum, it) => sum + it, 0),
    by: Math.min(calls.length, Math.max(durationMs / 1000 - course.first, 0)),
  }
}

type Buckets = {
  readonly unit: RootCallTimes['unit']
  readonly parts: readonly (readonly CallBucket[])[]
} | null

/** Returns the histograms of all parts; null if a part has none. */
function bucketsOf(parts: readonly Profile[]): Buckets {
  const all = parts.map((it) => it.rootCalls)
  const [first] = all
  if (first === undefined || all.some((it) => it?.unit !== first.unit)) return null
  return { unit: first.unit, parts: all.map((it) => it?.buckets ?? []) }
}

/** Whether the change is larger than its noise. A change with unknown noise counts as larger. */
export function exceedsNoise({ before, after, noise }: LeadChange): boolean {
  return Math.abs(after - before) > (noise ?? 0)
}
