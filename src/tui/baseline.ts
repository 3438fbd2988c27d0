// What was at the moment of b, and what has changed since per call of the root.

import { changesBetween, type TwoSides } from '../cct/baseline.ts'
import { withCountedCalls } from '../cct/folds.ts'
import { metricOf } from '../cct/metric.ts'
import { hotMethods } from '../cct/snapshot.ts'
import type { Tree } from '../cct/tree.ts'

/** Columns of changes with their signs; those of the metric have their sizes, by which rows are sorted. */
export const CHANGE_COLUMNS = {
  total: 'changeOfTotal',
  self: 'changeOfSelf',
  calls: 'changeOfCalls',
  /** Total cost of a root call before. */
  was: 'totalBefore',
} as const

/** A tree of changes, or of one node a method, for views. */
export interface ShownChanges {
  readonly tree: Tree
  readonly rootCalls: TwoSides['rootCalls']
  /** What a root call cost before. */
  readonly wholeBefore: number
}

/** Of what `b` compares with. */
export interface Baseline {
  readonly tree: Tree
  /** The present does not have it in it: it began anew, or is of other calls. */
  readonly isApart: boolean
}

/** What is made of both sides before they are compared. */
export type Shape = (tree: Tree) => Tree

export function changesSince(baseline: Baseline, now: Tree, shape: Shape): ShownChanges {
  const [before, after] = [shape(withCountedCalls(baseline.tree)), shape(withCountedCalls(now))]
  const metric = metricOf(now.count > 0 ? now : baseline.tree)
  const [rootsBefore, rootsNow] = [rootsOf(baseline.tree), rootsOf(now)]
  const roots = {
    before: rootsBefore.calls,
    after: baseline.isApart ? rootsNow.calls : rootsNow.calls - rootsBefore.calls,
  }
  const { tree, totalBefore } = changesBetween(before, after, metric, baseline.isApart, roots)
  const { calls } = tree.metrics
  const [self, total] = [tree.metrics[metric.self]!, tree.metrics[metric.total]!]
  const sizes = (of: Float64Array) => of.map(Math.abs)
  return {
    tree: {
      ...tree,
      metrics: {
        calls: sizes(calls!),
        [metric.self]: sizes(self),
        [metric.total]: sizes(total),
        [CHANGE_COLUMNS.calls]: calls!,
        [CHANGE_COLUMNS.self]: self,
        [CHANGE_COLUMNS.total]: total,
        [CHANGE_COLUMNS.was]: totalBefore,
      },
    },
    rootCalls: roots,
    wholeBefore: roots.before > 0 ? rootsBefore.cost / roots.before : 0,
  }
}

function rootsOf(tree: Tree): { calls: number; cost: number } {
  const { calls } = tree.metrics
  const total = tree.metrics[metricOf(tree).total]
  let [sum, cost] = [0, 0]
  for (let top = 0; top < tree.count; top += tree.size[top]!) {
    sum += calls?.[top] ?? 0
    cost += total?.[top] ?? 0
  }
  return { calls: sum, cost }
}

/** Each method as a top of its own. */
export function methodsAlone(tree: Tree): Tree {
  const methods = hotMethods(tree)
  const metric = metricOf(tree)
  const column = (of: (it: (typeof methods)[number]) => number) => Float64Array.from(methods, of)
  return {
    count: methods.length,
    method: Int32Array.from(methods, (it) => it.method),
    parent: new Int32Array(methods.length).fill(-1),
    size: new Int32Array(methods.length).fill(1),
    metrics: {
      calls: column((it) => it.calls),
      [metric.self]: column((it) => it.self),
      [metric.total]: column((it) => it.total),
    },
  }
}
