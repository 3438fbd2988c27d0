// What a tree sums besides calls: the cost of each context, its own and its subtree's. A tree knows by its columns.

import type { Tree } from './tree.ts'

/**
 * `time`: compensated nanoseconds, may be negative. `bytecodes`: instructions executed. `calls`: nothing but
 * invocations, so that a subtree's cost is how many calls there were in it. `samples`: how often a thread was found there;
 * its calls are those that were seen to be new, a lower bound (Whaley's edge weights).
 * `waits`: nanoseconds that were spent blocked or waiting, which are those of rows of their own. `bytes`: what is
 * allocated. There, a node may stand for a class, below the method that allocates: its calls are objects, and its method's
 * own cost is what such nodes below it have (allocation.ts).
 */
export type CostKind = 'time' | 'bytecodes' | 'calls' | 'samples' | 'waits' | 'bytes'

export interface Metric {
  readonly kind: CostKind
  /** Names of the columns. */
  readonly self: string
  readonly total: string
}

export const METRICS: Readonly<Record<CostKind, Metric>> = {
  // Before time: trees of waits have its columns, too.
  waits: { kind: 'waits', self: 'selfWaitNs', total: 'totalWaitNs' },
  time: { kind: 'time', self: 'selfNs', total: 'totalNs' },
  bytecodes: { kind: 'bytecodes', self: 'selfBytecodes', total: 'totalBytecodes' },
  samples: { kind: 'samples', self: 'selfSamples', total: 'totalSamples' },
  calls: { kind: 'calls', self: 'calls', total: 'totalCalls' },
  bytes: { kind: 'bytes', self: 'bytes', total: 'totalBytes' },
}

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
