// A calling context tree, finished and still: what builders produce and views, files and exports read.
//
// Structure of arrays in preorder: node i's subtree is [i, i + size[i]), its first child is i + 1,
// the next sibling of c is c + size[c]. There may be several top nodes (parent -1), the roots.
// Metrics are named columns, so that a new mode adds a column and no new tree.

import type { Activity } from './activity.ts'
import type { CallTable } from './call-ids.ts'
import type { CourseTimes, RootCallTimes } from './root-calls.ts'
import type { SlowTimes } from './slow-times.ts'

export interface Tree {
  /** Number of nodes; every array below has this length. */
  readonly count: number
  /** Method id (dense from 1), see `MethodName` for what it is called. Of a method and a call site, where these are told. */
  readonly method: Int32Array
  /** Where call sites are told: by id, the id that stands for the method wherever it is called. */
  readonly methodOf?: Int32Array
  /** Index of the parent node, -1 for a top node. */
  readonly parent: Int32Array
  /** Nodes in the subtree, itself included. */
  readonly size: Int32Array
  /**
   * `calls` invocations, and the two columns of the tree's metric (metric.ts). Of exact time: `selfNs`
   * compensated net time (may be negative); `totalNs` selfNs of the whole subtree, so children and
   * self make the parent; `measuredNs` net time before compensation;
   * `warmupCalls`, `warmupSelfNs` the share of calls and selfNs from before the last redefinition
   * had settled. Where waiting is told apart, those of measures/locks as well.
   */
  readonly metrics: { readonly [name: string]: Float64Array }
  /** Where contexts have been collapsed (collapse.ts): what they had. Their rows have the id COLLAPSED, and the sums of all in them. */
  readonly collapsed?: CollapsedMethods
}

/** What the top nodes have of a column, in all; 0 where the tree does not have it. */
export function topSum({ count, metrics, size }: Tree, name: string): number {
  const values = metrics[name]
  let sum = 0
  if (values !== undefined) for (let top = 0; top < count; top += size[top]!) sum += values[top]!
  return sum
}

/** How rows of collapsed contexts are called, whose id is COLLAPSED. */
export const COLLAPSED_NAME: MethodName = {
  class: '',
  method: '(collapsed contexts)',
  descriptor: '',
  loader: '',
}

/** By method, what its collapsed contexts had: those that were in the tree of a picture are not among them. */
export interface CollapsedMethods {
  readonly method: Int32Array
  readonly calls: Float64Array
  /** In the unit of the tree's metric. */
  readonly self: Float64Array
  /** Of outermost activations. */
  readonly total: Float64Array
}

/** How a method is shown and told apart. */
export interface MethodName {
  /** Class name with dots and `$`, as `Class.getName()` gives it. */
  readonly class: string
  readonly method: string
  /** JVM descriptor, `(I)V`. */
  readonly descriptor: string
  /** Name of the defining class loader, "bootstrap", "app", or "com.foo.Loader@7". */
  readonly loader: string
  /** Of what is called from one place: the bytecode index of the call in its caller's own code. */
  readonly bci?: number
  /** Its line, if the caller's class has line numbers. */
  readonly line?: number
}

export interface ThreadTree {
  /** Java thread id. */
  readonly id: number
  readonly name: string
  readonly tree: Tree
  /** While it is recorded, where somebody looks. */
  readonly activity?: Activity
}

/** All that the client knows of the calls at one moment. */
export interface Snapshot {
  readonly merged: Tree
  readonly threads: readonly ThreadTree[]
  /** Enter and exit events decoded. */
  readonly events: number
  /** Time target threads spent waiting for the client, charged to nobody. */
  readonly waitNs: number
  /** Simulated stack frames that had no matching exit and were closed at one below them, or at a root. */
  readonly healed: number
  /** Where call sites are told: what ids stand for. */
  readonly calls?: CallTable
  /** Outermost calls of roots that have ended; absent where they are not timed. */
  readonly rootCalls?: RootCallTimes
  /** Second by second; absent where nobody looks. */
  readonly course?: CourseTimes
  /** Absent where they are not kept, or not asked for. */
  readonly slow?: SlowTimes
}
