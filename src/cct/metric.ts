// Determines the cost metric of a tree from its columns (`measures/columns.ts`).

import { METRICS, type Metric } from '../measures/columns.ts'
import type { Tree } from './tree.ts'

/** Metrics in the order in which they are checked. Time is last, since trees of waits also have the columns of time. */
const FOUND = Object.values(METRICS).reverse()

/** Returns the metric of a tree's columns; time if the tree has no metric columns. */
export function metricOf({ metrics }: Tree): Metric {
  return FOUND.find(({ total }) => metrics[total] !== undefined) ?? METRICS.exact
}

/** Returns the self and total cost columns of a tree. */
export function costsOf(tree: Tree): { readonly self: Float64Array; readonly total: Float64Array } {
  const { self, total } = metricOf(tree)
  const of = (name: string) => tree.metrics[name] ?? new Float64Array(tree.count)
  return { self: of(self), total: of(total) }
}
