// Change per root call: the cost of a context per root call, minus its earlier cost. The two sides are an earlier and a later part of a
// session, or two sets of calls.

import { type Difference, differenceOf } from './difference.ts'
import type { Tree } from './tree.ts'

/** Sums per context of one side, or the change of these sums per root call. A node's total is its self cost plus its children's totals. */
export interface Sums {
  readonly calls: Float64Array
  readonly self: Float64Array
  readonly total: Float64Array
}

export interface TwoSides {
  readonly before: Sums
  readonly after: Sums
  readonly rootCalls: { readonly before: number; readonly after: number }
}

/** Returns the two sides of a difference unchanged. */
export function sidesOf({ calls, self, total, rootCalls }: Difference): TwoSides {
  return {
    before: { calls: calls.before, self: self.before, total: total.before },
    after: { calls: calls.after, self: self.after, total: total.after },
    rootCalls,
  }
}

/**
 * Returns two sides: the earlier snapshot, and the later snapshot minus the earlier snapshot. Within a session, the later snapshot
 * includes the calls of the earlier snapshot.
 */
export function sinceOf({ calls, self, total, rootCalls }: Difference): TwoSides {
  const grown = ({ before, after }: Difference['calls']) => after.map((value, i) => value - before[i]!)
  return {
    before: { calls: calls.before, self: self.before, total: total.before },
    after: { calls: grown(calls), self: grown(self), total: grown(total) },
    rootCalls: { before: rootCalls.before, after: rootCalls.after - rootCalls.before },
  }
}

/** Returns each side per root call, and the second side minus the first side. All values of a side without root calls are zero. */
export function changesPerCall({ before, after, rootCalls }: TwoSides): {
  readonly before: Sums
  readonly after: Sums
  readonly change: Sums
} {
  const each = (sums: Sums, roots: number): Sums => {
    const part = (values: Float64Array) => values.map((it) => (roots > 0 ? it / roots : 0))
    return { calls: part(sums.calls), self: part(sums.self), total: part(sums.total) }
  }
  const [was, is] = [each(before, rootCalls.before), each(after, rootCalls.after)]
  const less = (a: Float64Array, b: Float64Array) => a.map((value, i) => value - b[i]!)
  const change = {
    calls: less(is.calls, was.calls),
    self: less(is.self, was.self),
    total: less(is.total, was.total),
  }
  return { before: was, after: is, change }
}

/** Changes per root call as a tree for views: the costs and calls of this tree are differences. */
export interface Changes {
  readonly tree: Tree
  /** Earlier total cost per root call, per node. */
  readonly totalBefore: Float64Array
  readonly rootCalls: TwoSides['rootCalls']
}

/**
 * @param after     a later snapshot of the same session; with `isApart`, a tree that does not contain the calls of `before`
 * @param rootCalls divisor of both sides; by default the calls of the top nodes
 */
export function changesBetween(
  before: Tree,
  after: Tree,
  metric: { readonly self: string; readonly total: string },
  isApart = false,
  rootCalls?: TwoSides['rootCalls'],
): Changes {
  const difference = differenceOf(before, after)
  const { count, parent, size, nodeBefore, nodeAfter } = difference
  const own = isApart ? sidesOf(difference) : sinceOf(difference)
  const sides = { ...own, rootCalls: rootCalls ?? own.rootCalls }
  const { before: was, change } = changesPerCall(sides)
  const method = Int32Array.from(nodeAfter, (node, i) =>
    node >= 0 ? after.method[node]! : before.method[nodeBefore[i]!]!,
  )
  const { methodOf } = after
  return {
    tree: {
      ...{ count, parent, size, method },
      ...(methodOf !== undefined && { methodOf }),
      metrics: { calls: change.calls, [metric.self]: change.self, [metric.total]: change.total },
    },
    totalBefore: was.total,
    rootCalls: sides.rootCalls,
  }
}
