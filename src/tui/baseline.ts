// What was at the moment of b, and what has changed since per call of the root.

import { backTraces, backTracesOfBoth } from '../cct/back-traces.ts'
import { changesBetween, type TwoSides } from '../cct/baseline.ts'
import { metricOf } from '../cct/metric.ts'
import { hotMethods } from '../cct/snapshot.ts'
import { type Tree, topSum } from '../cct/tree.ts'

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
  /** Of callers that are compared, where there are more. */
  readonly levels?: number
}

/** Of what `b` compares with. */
export interface Baseline {
  readonly tree: Tree
  /** The present does not have it in it: it began anew, or is of other calls. */
  readonly isApart: boolean
}

export interface ShapedSides {
  readonly before: Tree
  readonly after: Tree
  /** As in `ShownChanges`. */
  readonly levels?: number | undefined
}

/** What is made of both sides before they are compared. The one before stays for many pictures: it is made once. */
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

/** Made once of each, as long as that is there. */
export function kept<From extends object, Made>(make: (from: From) => Made): (from: From) => Made {
  const known = new WeakMap<From, { readonly made: Made }>()
  return (from) => {
    const before = known.get(from)
    if (before !== undefined) return before.made
    const made = make(from)
    known.set(from, { made })
    return made
  }
}

/** Each method as a top of its own. */
export function methodsAlone(): Shape {
  const ofBefore = kept(aloneIn)
  return (before, after) => ({ before: ofBefore(before), after: aloneIn(after) })
}

/** A method, below it its callers, below them theirs, as many levels on both sides; of none, no rows. */
export function callersOf(method: number | undefined): Shape {
  const methods = method === undefined ? [] : [method]
  const ofBefore = kept((tree: Tree) => ({ traces: backTraces(tree, methods) }))
  return (before, after) => {
    const known = ofBefore(before)
    const both = backTracesOfBoth(known.traces, before, after, methods)
    // Levels do not come back: the present mostly has ever more contexts, and rows stay where they are.
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
