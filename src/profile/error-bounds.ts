// Error bounds of the times of methods and roots, so that a comparison of two profiles does not report noise as a change.
//
// Probe costs are subtracted from times, but the measured probe costs have an error of a fraction of a nanosecond. The cost of a probe pair
// has two halves: the error of the inner half applies to the called method, and the error of the outer half to its caller.
//
// Counts have no error. The error of samples is statistical and depends on their number.

import { metricOf } from '../cct/metric.ts'
import { hotMethods } from '../cct/snapshot.ts'
import { methodKey, treeByKey } from './compare.ts'
import { STANDARD_ERRORS } from './noise.ts'
import { column, nameOf, type Profile } from './profile.ts'

/** Error bounds of a method's costs, in units of the metric. */
export interface ErrorBound {
  readonly self: number
  readonly total: number
}

/** Error bounds of a whole recording. */
export interface ErrorBounds {
  /** Error bounds of methods, keyed by `methodKey`. */
  readonly methods: ReadonlyMap<string, ErrorBound>
  readonly roots: ErrorBound
}

/** Minimum error of half a probe pair in ns, even if the calibration found no variation. */
const MIN_HALF_NANOS = 0.5

const NONE: ErrorBounds = { methods: new Map(), roots: { self: 0, total: 0 } }

export function errorBoundsOf(profile: Profile): ErrorBounds {
  const { merged, methodNames } = profile
  if (!metricOf(merged).hasErrorBound) return NONE
  const costs = errorBoundColumns(profile)
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

function errorBoundColumns({ merged, calibration }: Profile): { self: Float64Array; total: Float64Array } {
  const { innerSpreadNs = 0, outerSpreadNs = 0 } = calibration
  const inner = Math.max(MIN_HALF_NANOS, innerSpreadNs)
  const outer = Math.max(MIN_HALF_NANOS, outerSpreadNs)
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

/** Returns the error bound of the difference of two quotients: `one / oneBy` and `other / otherBy`. */
export function errorBoundOfDifference(
  one: ErrorBound | undefined,
  oneBy: number,
  other: ErrorBound | undefined,
  otherBy: number,
): ErrorBound {
  const sum = (of: keyof ErrorBound) => (one?.[of] ?? 0) / oneBy + (other?.[of] ?? 0) / otherBy
  return { self: sum('self'), total: sum('total') }
}

/** Returns three standard errors of the difference of two shares of samples. */
export function errorBoundOfShares(one: number, oneOf: number, other: number, otherOf: number): number {
  const variance = (share: number, samples: number) => (share * (1 - share)) / samples
  return STANDARD_ERRORS * Math.sqrt(variance(one, oneOf) + variance(other, otherOf))
}
