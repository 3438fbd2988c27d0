// Which costs a tree sums besides calls: it is known by its columns (`measures/columns.ts`).

import { METRICS, type Metric } from '../measures/columns.ts'
import type { Tree } from './tree.ts'

/** The metric of a tree's columns; time where it has none. */
export function metricOf({ metrics }: Tree): Metric {
  for (const metric of Object.values(METRICS)) if (metrics[metric.total] !== undefined) return metric
  return METRICS.time
}

/** A tree's two columns of cost. */
export function costsOf(tree: Tree): { readonly self: Float64Array; readonly total: Float64Array } {
  const { self, total } = metricOf(tree)
  const of = (name: string) => tree.metrics[name] ?? new Float64Array(tree.count)
  return { self: of(self), total: of(total) }
}
