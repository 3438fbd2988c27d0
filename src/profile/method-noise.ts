// Noise of the costs of methods in a comparison: the largest difference per root call, or per sample, that is expected by chance.
//
// The noise between the parts of a side (noise.ts) includes everything that differs between recordings. Parts without sampled rows, that is
// segments of scheme adaptive, show only how the cost of the root calls varies. The variances of independent rows sum to this variance, so
// a row gets a part of it that is proportional to its cost. For samples, the number of samples also gives a standard error. The larger of
// the two counts.

import { SAMPLED } from '../cct/merge-samples.ts'
import { hotMethods } from '../cct/snapshot.ts'
import type { Metric } from '../measures/columns.ts'
import type { Side } from './changed-root-calls.ts'
import { methodKey, rootCalls, treeByKey } from './compare.ts'
import { type ErrorBound, errorBoundOfShares } from './error-bounds.ts'
import { noiseOf, STANDARD_ERRORS, type Variance, varianceOf } from './noise.ts'
import { column, nameOf, type Profile, rootTotal } from './profile.ts'

export interface MethodNoise {
  /** Whether the noise between recordings is known. Counts have none. */
  readonly isKnown: boolean
  /** Noise of the root costs; null if unknown. */
  readonly root: number | null
  /** Noise of a method, by `methodKey`. */
  of(key: string): CostNoise
}

/** Noise of a method's costs; 0 for counts, null if unknown. */
export interface CostNoise {
  readonly self: number | null
  readonly total: number | null
}

/** Whether costs are exact numbers, which are equal in each run. */
export function isCounted({ isTime, isSampled }: Metric): boolean {
  return !isTime && !isSampled
}

type Costs = 'self' | 'total'

const NO_NOISE: MethodNoise = { isKnown: true, root: 0, of: () => ({ self: 0, total: 0 }) }

export function methodNoise(before: Side, after: Side, metric: Metric): MethodNoise {
  if (isCounted(metric)) return NO_NOISE
  const [one, other] = [sideOf(before, metric), sideOf(after, metric)]
  const of = (key: string, cost: Costs): number | null => {
    const between = noiseOf(one.between(key, cost), other.between(key, cost))
    const errors = STANDARD_ERRORS * Math.sqrt(one.sampling(key, cost) + other.sampling(key, cost))
    const shares = metric.isSampled
      ? errorBoundOfShares(one.each(key, cost), one.by, other.each(key, cost), other.by)
      : 0
    const known = Math.max(errors, shares)
    if (between !== null) return Math.max(between, known)
    return metric.isSampled || known > 0 ? known : null
  }
  const root = noiseOf(one.root, other.root)
  return {
    isKnown: root !== null || metric.isSampled === true,
    root,
    of: (key) => ({ self: of(key, 'self'), total: of(key, 'total') }),
  }
}

interface NoiseSide {
  readonly by: number
  readonly root: Variance | null
  /** Cost per root call. */
  each(key: string, cost: Costs): number
  /** Variance of `each` from the differences of the parts. */
  between(key: string, cost: Costs): Variance | null
  /** Variance of `each` from the number of samples of scheme adaptive. */
  sampling(key: string, cost: Costs): number
}

function sideOf({ whole, parts }: Side, metric: Metric): NoiseSide {
  const all = byKey(whole)
  const by = divisorOf(whole, metric)
  const each = (key: string, cost: Costs) => (all.get(key)?.[cost] ?? 0) / by
  const divisors = parts.map((part) => divisorOf(part, metric))
  const variance = (costs: (part: number) => number) =>
    varianceOf(divisors.map((divisor, part) => ({ cost: costs(part), by: divisor })))
  const totals = parts.map(({ merged }) => rootTotal(merged))
  const root = variance((part) => totals[part]!)
  const isAdaptive = whole.merged.metrics.known !== undefined
  const hasRows =
    parts.length > 1 && (!isAdaptive || parts.every(({ merged }) => merged.metrics.known !== undefined))
  const ofParts = hasRows ? parts.map((part) => byKey(part)) : []
  const variances = isAdaptive ? samplingVariances(whole) : new Map<string, ErrorBound>()
  const rootCost = rootTotal(whole.merged) / by
  return {
    by,
    root,
    each,
    between: (key, cost) => {
      if (hasRows) return variance((part) => ofParts[part]!.get(key)?.[cost] ?? 0)
      if (root === null) return null
      const share = rootCost > 0 ? each(key, cost) / rootCost : 0
      return { ...root, variance: root.variance * Math.min(1, Math.max(0, share)) }
    },
    sampling: (key, cost) => (variances.get(key)?.[cost] ?? 0) / by ** 2,
  }
}

function divisorOf(profile: Profile, { isSampled }: Metric): number {
  return isSampled ? rootTotal(profile.merged) : rootCalls(profile)
}

/** Sums costs per method in all of its contexts. @param costs  default: the costs of the tree */
function byKey(
  profile: Profile,
  costs?: { self: Float64Array; total: Float64Array },
): Map<string, ErrorBound> {
  const { methodNames } = profile
  const methods = hotMethods(treeByKey(profile), costs).map(
    ({ method, self, total }) => [methodKey(nameOf(methodNames, method)), { self, total }] as const,
  )
  return new Map(methods)
}

/**
 * Returns the variances of the times of methods from the numbers of samples. The samples of a row divide its total between its own time and
 * the rows below it: the variance of the own time is that of a share of the samples.
 */
function samplingVariances(profile: Profile): Map<string, ErrorBound> {
  const { merged } = profile
  const { count } = merged
  const [selfNs, totalNs, samples, sd, known] = ['selfNs', 'totalNs', 'samples', 'sdNs', 'known'].map(
    (name) => column(merged, name),
  ) as [Float64Array, Float64Array, Float64Array, Float64Array, Float64Array]
  const self = new Float64Array(count)
  const total = new Float64Array(count)
  for (let node = 0; node < count; node++) {
    const isSampled = known[node] === SAMPLED
    const variance = isSampled ? sd[node]! ** 2 : 0
    total[node] = variance
    const [own, all] = [Math.max(0, selfNs[node]!), Math.max(0, totalNs[node]!)]
    if (isSampled) self[node] = all > 0 ? variance * Math.min(1, own / all) : 0
    else if (samples[node]! > 0) self[node] = (own * Math.max(0, all - own)) / samples[node]!
  }
  return byKey(profile, { self, total })
}
