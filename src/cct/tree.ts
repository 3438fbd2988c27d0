// A complete, immutable calling context tree. Builders produce it; views, files and exports read it.
//
// Structure of arrays in preorder: node i's subtree is [i, i + size[i]), its first child is i + 1, the next sibling of c is c + size[c].
// There may be several top nodes (parent -1), the roots. Metrics are named columns, so that a new mode only adds a column.

import type { Activity } from './activity.ts'
import type { CallTable } from './call-ids.ts'
import type { CourseTimes, RootCallTimes } from './root-calls.ts'
import type { SlowTimes } from './slow-times.ts'

export interface Tree {
  /** Number of nodes; every array below has this length. */
  readonly count: number
  /** Method id (dense from 1), see `MethodName` for its name. With call sites: id of a method and call site. */
  readonly method: Int32Array
  /** With call sites: maps each id to the id of the method without call site. */
  readonly methodOf?: Int32Array
  /** Index of the parent node, -1 for a top node. */
  readonly parent: Int32Array
  /** Number of nodes in the subtree, including its top. */
  readonly size: Int32Array
  /**
   * Columns: `calls`, the number of invocations, and the two columns of the tree's metric (metric.ts). For exact time: `selfNs`, self time
   * without probe costs (may be negative); `totalNs`, the sum of selfNs over the subtree, so children plus self equal the parent;
   * `measuredNs`, self time with probe costs; `warmupCalls` and `warmupSelfNs`, the part of `calls` and `selfNs` from before the last
   * redefinition had settled. If waiting is recorded separately, there are also the columns of measures/locks.
   */
  readonly metrics: { readonly [name: string]: Float64Array }
  /** Sums of collapsed contexts (collapse.ts) per method, if any. In the tree, rows of collapsed contexts have the id COLLAPSED. */
  readonly collapsed?: CollapsedMethods
}

/** Returns the sum of a column over all top nodes; 0 if the tree does not have the column. */
export function topSum({ count, metrics, size }: Tree, name: string): number {
  const values = metrics[name]
  let sum = 0
  if (values !== undefined) for (let top = 0; top < count; top += size[top]!) sum += values[top]!
  return sum
}

/** Name of rows of collapsed contexts, with id COLLAPSED. */
export const COLLAPSED_NAME: MethodName = {
  class: '',
  method: '(collapsed contexts)',
  descriptor: '',
  loader: '',
}

/** Sums of collapsed contexts per method. Contexts that are still in the snapshot's tree are excluded. */
export interface CollapsedMethods {
  readonly method: Int32Array
  readonly calls: Float64Array
  /** Self costs, in the unit of the tree's metric. */
  readonly self: Float64Array
  /** Total costs, summed over outermost activations. */
  readonly total: Float64Array
}

/** Name and identity of a method. */
export interface MethodName {
  /** Class name with dots and `$`, as in `Class.getName()`. */
  readonly class: string
  readonly method: string
  /** JVM descriptor, `(I)V`. */
  readonly descriptor: string
  /** Name of the defining class loader: "bootstrap", "app", or "com.foo.Loader@7". */
  readonly loader: string
  /** With call sites: bytecode index of the call in the caller's original code. */
  readonly bci?: number
  /** Line of the call site, if the caller's class has line numbers. */
  readonly line?: number
}

export interface ThreadTree {
  /** Java thread id. */
  readonly id: number
  readonly name: string
  readonly tree: Tree
  /** Recent activity of the thread; present only during a recording with activity enabled. */
  readonly activity?: Activity
}

/** Data about all calls, as known to the client at one moment. */
export interface Snapshot {
  readonly merged: Tree
  readonly threads: readonly ThreadTree[]
  /** Number of decoded entry and exit events. */
  readonly events: number
  /** Time application threads were stalled by jfluid. Excluded from every node. */
  readonly waitNs: number
  /** Number of frames that were closed by the exit of an outer frame or by a root's entry, since their own exit was missing. */
  readonly healed: number
  /** With call sites: maps ids to methods and sites. */
  readonly calls?: CallTable
  /** Durations of finished outermost root calls; absent if root calls are not timed. */
  readonly rootCalls?: RootCallTimes
  /** Values per second; absent if not requested. */
  readonly course?: CourseTimes
  /** Slow calls; absent if not recorded or not requested. */
  readonly slow?: SlowTimes
}
