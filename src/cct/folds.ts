// What a tree says of methods that were without probes for a while (folding.ts): calls that were not counted, by the
// columns `extrapolatedCalls` and `folded`.

import type { Tree } from './tree.ts'

export interface Folds {
  /** Of each node: calls that are not among its `calls`, and were not counted. */
  readonly extra: Float64Array
  /** 1 where the method is folded into its caller at the moment. */
  readonly folded: Float64Array
}

/** Undefined where nothing was ever to be folded. */
export function foldsOf({ metrics }: Tree): Folds | undefined {
  const { extrapolatedCalls: extra, folded } = metrics
  return extra === undefined || folded === undefined ? undefined : { extra, folded }
}

/** By method; none for those that were counted all the time. */
export function methodFolds(tree: Tree): Map<number, { readonly extra: number; readonly folded: boolean }> {
  const folds = foldsOf(tree)
  const sums = new Map<number, { extra: number; folded: boolean }>()
  if (folds === undefined) return sums
  for (let node = 0; node < tree.count; node++) {
    if (folds.extra[node] === 0 && folds.folded[node] === 0) continue
    const method = tree.method[node]
    const sum = sums.get(method) ?? { extra: 0, folded: false }
    sum.extra += folds.extra[node]
    sum.folded ||= folds.folded[node] === 1
    sums.set(method, sum)
  }
  return sums
}
