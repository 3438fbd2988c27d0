// How much two profiles agree: the overlap of Komorium's section 7.1, and what part of the hot contexts both have.

import { costsOf } from '../cct/metric.ts'
import type { Tree } from '../cct/tree.ts'
import { nameOf, type Profile } from './profile.ts'

/** Contexts of both profiles have numbers, the same for the same path from the top. */
class Paths {
  readonly #known = new Map<string, number>()

  /** By node. */
  of({ merged, methodNames }: Profile): Int32Array {
    const paths = new Int32Array(merged.count)
    for (let node = 0; node < merged.count; node++) {
      const { class: owner, method, descriptor } = nameOf(methodNames, merged.method[node]!)
      const above = merged.parent[node]! < 0 ? 0 : paths[merged.parent[node]!]!
      const key = `${above} ${owner}.${method}${descriptor}`
      let path = this.#known.get(key)
      if (path === undefined) {
        path = this.#known.size + 1
        this.#known.set(key, path)
      }
      paths[node] = path
    }
    return paths
  }
}

/**
 * The sum over all contexts of the lesser of their two shares of cost: 1 for profiles of the same shape, 0 for those that have
 * no context in common. Costs may be of different kinds, as samples and bytecodes; what is negative counts as nothing.
 */
export function overlap(one: Profile, other: Profile): number {
  const paths = new Paths()
  const [ours, theirs] = [one, other].map((profile) => sharesOf(profile.merged, paths.of(profile)))
  let sum = 0
  for (const [path, share] of ours!) sum += Math.min(share, theirs!.get(path) ?? 0)
  return sum
}

/**
 * Of the calls between contexts that make up the hot part of the first profile, at least this part of its total cost each, those
 * that the second has found hot as well: 1 if there are none (Hofer and others, section 5.4).
 */
export function hotEdgeCoverage(exact: Profile, sampled: Profile, threshold = 0.01): number {
  const paths = new Paths()
  const [hot, found] = [exact, sampled].map((profile) => hotOf(profile.merged, paths.of(profile), threshold))
  let common = 0
  for (const path of hot!) if (found!.has(path)) common++
  return hot!.size === 0 ? 1 : common / hot!.size
}

/**
 * Pearson's correlation of what contexts cost themselves, over those that either profile has: how far two segments of one run agree
 * (Whaley, section 6). NaN if one of them has but a single value.
 */
export function correlation(one: Profile, other: Profile): number {
  const paths = new Paths()
  const [x, y] = [one, other].map((profile) => sharesOf(profile.merged, paths.of(profile)))
  const all = [...new Set([...x!.keys(), ...y!.keys()])]
  const mean = 1 / all.length // shares sum up to 1
  let [xy, xx, yy] = [0, 0, 0]
  for (const path of all) {
    const [dx, dy] = [(x!.get(path) ?? 0) - mean, (y!.get(path) ?? 0) - mean]
    xy += dx * dy
    xx += dx * dx
    yy += dy * dy
  }
  return xy / Math.sqrt(xx * yy)
}

/** By path: its part of all self cost. */
function sharesOf(tree: Tree, paths: Int32Array): Map<number, number> {
  const { self } = costsOf(tree)
  const all = self.reduce((sum, cost) => sum + Math.max(0, cost), 0)
  const shares = new Map<number, number>()
  for (let node = 0; node < tree.count; node++) {
    if (self[node]! > 0) shares.set(paths[node]!, (shares.get(paths[node]!) ?? 0) + self[node]! / all)
  }
  return shares
}

function hotOf(tree: Tree, paths: Int32Array, threshold: number): Set<number> {
  const { total } = costsOf(tree)
  let all = 0
  for (let top = 0; top < tree.count; top += tree.size[top]!) all += total[top]!
  const hot = new Set<number>()
  for (let node = 0; node < tree.count; node++) {
    if (tree.parent[node]! >= 0 && all > 0 && total[node]! >= all * threshold) hot.add(paths[node]!)
  }
  return hot
}
