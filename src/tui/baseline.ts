// The baseline that key b sets, and the changes since the baseline, per root call.

import { getOrAdd } from '../base/maps.ts'
import { backTraces, backTracesOfBoth } from '../cct/back-traces.ts'
import { changesBetween, type TwoSides } from '../cct/baseline.ts'
import { metricOf } from '../cct/metric.ts'
import { hotMethods } from '../cct/snapshot.ts'
import { type Tree, topSum } from '../cct/tree.ts'

/** Names of the columns with signed changes. The metric columns contain the absolute values of the changes, for sorting. */
export const CHANGE_COLUMNS = {
  total: 'changeOfTotal',
  self: 'changeOfSelf',
  calls: 'changeOfCalls',
  /** Total cost per root call at the baseline. */
  was: 'totalBefore',
} as const

/** Tree of changes for views: one node per context, or one per method. */
export interface ShownChanges {
  readonly tree: Tree
  readonly rootCalls: TwoSides['rootCalls']
  /** Cost of a root call at the baseline. */
  readonly wholeBefore: number
  /** Number of compared caller levels; undefined if no level was omitted. */
  readonly levels?: number
}

/** Tree that is compared with the current tree. */
export interface Baseline {
  readonly tree: Tree
  /** True if the current tree does not include the baseline: counts were reset, or the trees contain different calls. */
  readonly isApart: boolean
}

export interface ShapedSides {
  readonly before: Tree
  readonly after: Tree
  /** Number of compared caller levels, as in `ShownChanges`. */
  readonly levels?: number | undefined
}

/** Transforms both trees before the comparison. The transformed baseline is cached. */
export type Shape = (before: Tree, after: Tree) => ShapedSides

export const AS_IT_IS: Shape = (before, after) => ({ before, after })

export function changesSince(baseline: Baseline, now: Tree, shape: Shape): ShownChanges {
  const { before, after, levels } = shape(baseline.tree, now)
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
    ...(levels !== undefined && { levels }),
    rootCalls: roots,
    wholeBefore: roots.before > 0 ? rootsBefore.cost / roots.before : 0,
  }
}

function rootsOf(tree: Tree): { calls: number; cost: number } {
  return { calls: topSum(tree, 'calls'), cost: topSum(tree, metricOf(tree).total) }
}

/** Returns a memoized `make`, keyed weakly by its argument. */
export function kept<From extends object, Made>(make: (from: From) => Made): (from: From) => Made {
  const known = new WeakMap<From, { readonly made: Made }>()
  return (from) => getOrAdd(known, from, () => ({ made: make(from) })).made
}

/** Returns a shape with one top-level node per method. */
export function methodsAlone(): Shape {
  const ofBefore = kept(aloneIn)
  return (before, after) => ({ before: ofBefore(before), after: aloneIn(after) })
}

/** Returns a shape with the callers of a method, with the same number of levels in both trees. Without a method, the trees are empty. */
export function callersOf(method: number | undefined): Shape {
  const methods = method === undefined ? [] : [method]
  const ofBefore = kept((tree: Tree) => ({ traces: backTraces(tree, methods) }))
  return (before, after) => {
    const known = ofBefore(before)
    const both = backTracesOfBoth(known.traces, before, after, methods)
    // The number of levels never increases after it has decreased, so that rows keep their positions.
    known.traces = both.before
    const cut = [both.after, both.before].find(({ isCut }) => isCut)
    return { before: both.before.tree, after: both.after.tree, levels: cut?.levels }
  }
}

function aloneIn(tree: Tree): Tree {
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
