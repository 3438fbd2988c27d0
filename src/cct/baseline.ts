// Change per call of the root: what a context costs a root call, less what it cost one before. The two sides are a picture of a
// session and what came since, or two sets of calls.

import { type Difference, differenceOf } from './difference.ts'
import type { Tree } from './tree.ts'

/** By context: sums of one side, or their change per root call. Self and those of the children make the total. */
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

/** Both as they are. */
export function sidesOf({ calls, self, total, rootCalls }: Difference): TwoSides {
  return {
    before: { calls: calls.before, self: self.before, total: total.before },
    after: { calls: calls.after, self: self.after, total: total.after },
    rootCalls,
  }
}

/** Of a later picture of the same session, which has the earlier one in it: what came in between is the other side. */
export function sinceOf({ calls, self, total, rootCalls }: Difference): TwoSides {
  const grown = ({ before, after }: Difference['calls']) => after.map((value, i) => value - before[i]!)
  return {
    before: { calls: calls.before, self: self.before, total: total.before },
    after: { calls: grown(calls), self: grown(self), total: grown(total) },
    rootCalls: { before: rootCalls.before, after: rootCalls.after - rootCalls.before },
  }
}

/** Per root call: each side, and the second less the first. A side without root calls is nothing. */
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

/** What has changed per root call, as a tree that views can show: its costs and calls are changes. */
export interface Changes {
  readonly tree: Tree
  /** By node: what it cost a root call before, with callees. */
  readonly totalBefore: Float64Array
  readonly rootCalls: TwoSides['rootCalls']
}

/**
 * @param after     a later picture of the same session; or, with `isApart`, what does not have the first in it
 * @param rootCalls what both sides are divided by, where that is not the calls of the tops of these
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
