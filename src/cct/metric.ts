// Which costs a tree sums besides calls: it is known by its columns (`measures/columns.ts`).

import { METRICS, type Metric } from '../measures/columns.ts'
import type { Tree } from './tree.ts'

/** That of time is the last: trees of waits have its columns, too. */
const FOUND = Object.values(METRICS).reverse()

/** The metric of a tree's columns; time where it has none. */
export function metricOf({ metrics }: Tree): Metric {
  return FOUND.find(({ total }) => metrics[total] !== undefined) ?? METRICS.exact
}

/** A tree's two columns of cost. */
export function costsOf(tree: Tree): { readonly self: Float64Array; readonly total: Float64Array } {
  const { self, total } = metricOf(tree)
  const of = (name: string) => tree.metrics[name] ?? new Float64Array(tree.count)
  return { self: of(self), total: of(total) }
}
