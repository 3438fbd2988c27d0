// What times of methods and roots may be wrong by, so that a check of two profiles does not take noise for news.
//
// Probes are taken out of times, and how long they take is known to some part of a ns: each call is wrong by one half of that,
// and its caller by the other.
// What is counted is not wrong; samples are a matter of chance, which their number tells.

import { metricOf } from '../cct/metric.ts'
import { hotMethods } from '../cct/snapshot.ts'
import { methodKey, treeByKey } from './compare.ts'
import { column, nameOf, type Profile } from './profile.ts'

/** In units of the metric. */
export interface Doubt {
  readonly self: number
  readonly total: number
}

/** Of a whole recording. */
export interface Doubts {
  /** By `methodKey`. */
  readonly methods: ReadonlyMap<string, Doubt>
  readonly roots: Doubt
}

/** ns that each half of a probe is wrong by at least, even if the calibration has not found it to vary. */
const LEAST_HALF_NS = 0.5

const NONE: Doubts = { methods: new Map(), roots: { self: 0, total: 0 } }

export function doubtsOf(profile: Profile): Doubts {
  const { merged, methodNames } = profile
  if (!metricOf(merged).hasDoubt) return NONE
  const costs = doubtColumns(profile)
  const methods = hotMethods(treeByKey(profile), costs).map(
    ({ method, self, total }) => [methodKey(nameOf(methodNames, method)), { self, total }] as const,
  )
  const roots = { self: 0, total: 0 }
  for (let top = 0; top < merged.count; top += merged.size[top]!) {
    roots.self += costs.self[top]!
    roots.total += costs.total[top]!
  }
  return { methods: new Map(methods), roots }
}

function doubtColumns({ merged, calibration }: Profile): { self: Float64Array; total: Float64Array } {
  const { innerSpreadNs = 0, outerSpreadNs = 0 } = calibration
  const inner = Math.max(LEAST_HALF_NS, innerSpreadNs)
  const outer = Math.max(LEAST_HALF_NS, outerSpreadNs)
  const calls = column(merged, 'calls')
  const { count, parent } = merged
  const self = new Float64Array(count)
  const total = new Float64Array(count)
  for (let node = count - 1; node >= 0; node--) {
    self[node]! += calls[node]! * inner
    total[node]! += self[node]!
    const above = parent[node]!
    if (above < 0) continue
    self[above]! += calls[node]! * outer
    total[above]! += total[node]!
  }
  return { self, total }
}

/** Of the difference of two, each divided by its own number. */
export function sumOfDoubts(
  one: Doubt | undefined,
  oneBy: number,
  other: Doubt | undefined,
  otherBy: number,
): Doubt {
  const sum = (of: keyof Doubt) => (one?.[of] ?? 0) / oneBy + (other?.[of] ?? 0) / otherBy
  return { self: sum('self'), total: sum('total') }
}

/** Two standard errors of the difference of two shares of samples. */
export function doubtOfShares(one: number, oneOf: number, other: number, otherOf: number): number {
  const variance = (share: number, samples: number) => (share * (1 - share)) / samples
  return 2 * Math.sqrt(variance(one, oneOf) + variance(other, otherOf))
}
