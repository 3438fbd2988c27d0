// Merges two trees: every context of either tree, with its cost in each tree. A context is identified by the keys of its methods from the
// top down. Trees of different sessions are matched by name, trees of one session by id. Children are in the order of the first tree,
// followed by children that only the second tree has. The algorithm is iterative and reads both trees once.

import { Contexts, type KeyOf, numbered } from './contexts.ts'
import { costsOf } from './metric.ts'
import type { Tree } from './tree.ts'

/** One column per tree; 0 where a context is missing. */
export interface Sides {
  readonly before: Float64Array
  readonly after: Float64Array
}

/** Nodes in preorder, as in a `Tree`. */
export interface Difference {
  readonly count: number
  readonly parent: Int32Array
  /** Number of nodes in the subtree, including its top. */
  readonly size: Int32Array
  /** Per context: its node in the `before` tree and in the `after` tree, for name look-ups; -1 if the tree does not have the context. */
  readonly nodeBefore: Int32Array
  readonly nodeAfter: Int32Array
  readonly calls: Sides
  readonly self: Sides
  readonly total: Sides
  /** Number of calls of all top nodes: the divisor of a difference per root call. */
  readonly rootCalls: { readonly before: number; readonly after: number }
}

/**
 * Both trees must have the same metric for `self` and `total` to be comparable. Siblings with equal keys become one context with summed
 * numbers.
 * @param keyBefore  key of a method id of `before`
 * @param keyAfter   key of a method id of `after`
 */
export function differenceOf(
  before: Tree,
  after: Tree,
  keyBefore: KeyOf = (method) => method,
  keyAfter: KeyOf = keyBefore,
): Difference {
  const contexts = new Contexts(before.count + after.count)
  const numbers = new Map<string | number, number>()
  const ofBefore = contexts.take(before, numbered(keyBefore, numbers))
  const ofAfter = contexts.take(after, numbered(keyAfter, numbers))
  const { count, parent, size, place } = contexts.inPreorder()
  const nodeBefore = new Int32Array(count).fill(-1)
  const nodeAfter = new Int32Array(count).fill(-1)
  const [calls, self, total] = [sides(count), sides(count), sides(count)]
  const add = (tree: Tree, of: Int32Array, nodes: Int32Array, side: keyof Sides): number => {
    const costs = costsOf(tree)
    const { calls: treeCalls } = tree.metrics
    let rootCalls = 0
    for (let node = 0; node < tree.count; node++) {
      const at = place[of[node]]
      if (nodes[at] < 0) nodes[at] = node
      calls[side][at] += treeCalls[node]
      self[side][at] += costs.self[node]
      total[side][at] += costs.total[node]
      if (tree.parent[node] < 0) rootCalls += treeCalls[node]
    }
    return rootCalls
  }
  const rootCalls = {
    before: add(before, ofBefore, nodeBefore, 'before'),
    after: add(after, ofAfter, nodeAfter, 'after'),
  }
  return { count, parent, size, nodeBefore, nodeAfter, calls, self, total, rootCalls }
}

function sides(count: number): Sides {
  return { before: new Float64Array(count), after: new Float64Array(count) }
}
