// What a tree says of methods that were not timed for a while (folding.ts): calls that were only counted, by the column
// `countedCalls`, calls that were not even that, by `extrapolatedCalls`, and by `folded` which it is at the moment.

import type { Tree } from './tree.ts'

export const EXTRAPOLATED_CALLS = 'extrapolatedCalls'
export const COUNTED_CALLS = 'countedCalls'
export const FOLDED_COLUMN = 'folded'

/** Values of the column `folded`; 0 where the method is timed. */
export const FOLDED = 1
export const COUNTED = 2

export interface Folds {
  /** Of each node: calls that are not among its `calls`, and were not counted. */
  readonly extra: Float64Array
  /** Calls that are not among its `calls` either, but were counted. */
  readonly counted: Float64Array
  readonly folded: Float64Array
}

/** A tree whose calls are those that were only counted, too. */
export function withCountedCalls(tree: Tree): Tree {
  const { [COUNTED_CALLS]: counted, calls: timed } = tree.metrics
  if (counted === undefined || timed === undefined) return tree
  return { ...tree, metrics: { ...tree.metrics, calls: timed.map((it, node) => it + counted[node]) } }
}

/** Of one method, or one context. */
export interface Fold {
  readonly extra: number
  readonly counted: number
  readonly state: number
}

/** Undefined where nothing was ever to be folded. */
export function foldsOf({ metrics }: Tree): Folds | undefined {
  const { [EXTRAPOLATED_CALLS]: extra, [COUNTED_CALLS]: counted, [FOLDED_COLUMN]: folded } = metrics
  if (extra === undefined || folded === undefined) return undefined
  // Profiles of versions that could not only count have no such column.
  return { extra, counted: counted ?? new Float64Array(extra.length), folded }
}

/** Undefined for what was timed all the time. */
export function foldAt({ extra, counted, folded }: Folds, node: number): Fold | undefined {
  const fold = { extra: extra[node]!, counted: counted[node]!, state: folded[node]! }
  return fold.extra === 0 && fold.counted === 0 && fold.state === 0 ? undefined : fold
}

/** By method; none for those that were timed all the time. */
export function methodFolds(tree: Tree): Map<number, Fold> {
  const folds = foldsOf(tree)
  const sums = new Map<number, Fold>()
  if (folds === undefined) return sums
  for (let node = 0; node < tree.count; node++) {
    const fold = foldAt(folds, node)
    if (fold === undefined) continue
    const method = tree.method[node]
    const { extra, counted } = sums.get(method) ?? { extra: 0, counted: 0 }
    sums.set(method, { extra: extra + fold.extra, counted: counted + fold.counted, state: fold.state })
  }
  return sums
}
