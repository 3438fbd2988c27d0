// How much two profiles agree: the overlap of Komorium's section 7.1, and what part of the hot contexts both have.

import type { Difference, Sides } from '../cct/difference.ts'

/**
 * The sum over all contexts of the lesser of their two shares of cost: 1 for profiles of the same shape, 0 for those that have
 * no context in common. What is negative counts as nothing.
 */
export function overlapOf({ self, count }: Difference): number {
  const { before, after } = sharesOf(self)
  let sum = 0
  for (let node = 0; node < count; node++) sum += Math.min(before[node]!, after[node]!)
  return sum
}

export interface HotEdges {
  /** Calls between contexts that are hot in the first profile. */
  readonly count: number
  /** What part of them the second has found hot as well: 1 if there are none. */
  readonly coverage: number
}

/**
 * Of the calls between contexts that make up the hot part of the first profile, at least this part of its total cost each, those
 * that the second has found hot as well: 1 if there are none (Hofer and others, section 5.4).
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
 * Pearson's correlation of what contexts cost themselves, over those that either profile has: how far two segments of one run agree
 * (Whaley, section 6). NaN if one of them has but a single value.
 */
export function correlationOf({ self, count }: Difference): number {
  const { before, after } = sharesOf(self)
  let contexts = 0
  for (let node = 0; node < count; node++) if (before[node]! > 0 || after[node]! > 0) contexts++
  const mean = 1 / contexts // shares sum up to 1
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

/** By context: its part of all self cost. */
function sharesOf({ before, after }: Sides): Sides {
  const shares = (costs: Float64Array): Float64Array => {
    let all = 0
    for (const cost of costs) all += Math.max(0, cost)
    return costs.map((cost) => (cost > 0 ? cost / all : 0))
  }
  return { before: shares(before), after: shares(after) }
}
