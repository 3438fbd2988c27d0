// Agreement of two profiles: the overlap (Komorium paper, section 7.1), the share of hot edges found in both profiles, and a correlation.

import type { Difference, Sides } from '../cct/difference.ts'

/**
 * Returns the overlap. Each context adds the smaller of its two shares of cost: the sum is 1 for profiles with the same shape, and 0 for
 * profiles without common contexts. Negative costs count as 0.
 */
export function overlapOf({ self, count }: Difference): number {
  const { before, after } = sharesOf(self)
  let sum = 0
  for (let node = 0; node < count; node++) sum += Math.min(before[node]!, after[node]!)
  return sum
}

export interface HotEdges {
  /** Number of calls between contexts that are hot in the first profile. */
  readonly count: number
  /** Share of these hot edges that is also hot in the second profile; 1 if `count` is 0. */
  readonly coverage: number
}

/**
 * Compares hot edges. An edge (a call between two contexts) is hot if its cost is at least `threshold` of the total cost. Coverage is the
 * share of the first profile's hot edges that are also hot in the second profile (Hofer and others, section 5.4).
 */
export function hotEdgesOf({ count, parent, size, total }: Difference, threshold = 0.01): HotEdges {
  const [before, after] = [total.before, total.after].map((costs) => {
    let all = 0
    for (let top = 0; top < count; top += size[top]!) all += costs[top]!
    return (node: number): boolean => parent[node]! >= 0 && all > 0 && costs[node]! >= all * threshold
  }) as [(node: number) => boolean, (node: number) => boolean]
  let [hot, common] = [0, 0]
  for (let node = 0; node < count; node++) {
    if (!before(node)) continue
    hot++
    if (after(node)) common++
  }
  return { count: hot, coverage: hot === 0 ? 1 : common / hot }
}

/**
 * Returns Pearson's correlation of the self costs of all contexts of either profile. Whaley (section 6) uses it to compare two segments of
 * one run. NaN if all values of a profile are equal.
 */
export function correlationOf({ self, count }: Difference): number {
  const { before, after } = sharesOf(self)
  let contexts = 0
  for (let node = 0; node < count; node++) if (before[node]! > 0 || after[node]! > 0) contexts++
  const mean = 1 / contexts // the shares sum to 1
  let [xy, xx, yy] = [0, 0, 0]
  for (let node = 0; node < count; node++) {
    if (before[node]! <= 0 && after[node]! <= 0) continue
    const [dx, dy] = [before[node]! - mean, after[node]! - mean]
    xy += dx * dy
    xx += dx * dx
    yy += dy * dy
  }
  return xy / Math.sqrt(xx * yy)
}

/** Returns each context's share of all self cost. */
function sharesOf({ before, after }: Sides): Sides {
  const shares = (costs: Float64Array): Float64Array => {
    let all = 0
    for (const cost of costs) all += Math.max(0, cost)
    return costs.map((cost) => (cost > 0 ? cost / all : 0))
  }
  return { before: shares(before), after: shares(after) }
}
