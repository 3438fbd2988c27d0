// Two trees as one: every context that either of them has, with what it costs in both. A context is told by the keys of
// its methods from the top down, so trees of different sessions meet by name, and those of one session by id.
//
// Children come in the order of the first tree, then those that only the second one has. Nothing recurses, and the cost is
// that of reading both trees once.

import { costsOf } from './metric.ts'
import type { Tree } from './tree.ts'

/** A column of each tree; 0 where a context is missing. */
export interface Sides {
  readonly before: Float64Array
  readonly after: Float64Array
}

/** Nodes in preorder, as in a `Tree`. */
export interface Difference {
  readonly count: number
  readonly parent: Int32Array
  /** Nodes in the subtree, itself included. */
  readonly size: Int32Array
  /** A node of the tree that has the context, -1 if it does not: what may be asked for its name. */
  readonly nodeBefore: Int32Array
  readonly nodeAfter: Int32Array
  readonly calls: Sides
  readonly self: Sides
  readonly total: Sides
  /** Calls of all tops: what a difference per root call is divided by. */
  readonly rootCalls: { readonly before: number; readonly after: number }
}

/** What tells methods apart: equal keys are the same method. Asked once a method id. */
export type KeyOf = (method: number) => string | number

/**
 * Both trees must have the same metric for `self` and `total` to be comparable. Siblings with equal keys become one context,
 * and their numbers are summed.
 *
 * @param keyBefore  of method ids of `before`
 * @param keyAfter   of those of `after`
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

/** By method id of the tree: the number of its key. */
function numbered(keyOf: KeyOf, numbers: Map<string | number, number>): (method: number) => number {
  const known: (number | undefined)[] = []
  return (method) => {
    let number = known[method]
    if (number === undefined) {
      const key = keyOf(method)
      number = numbers.get(key) ?? numbers.size
      numbers.set(key, number)
      known[method] = number
    }
    return number
  }
}

/** The least power of two that is at least twice `entries`. */
function slotsFor(entries: number): number {
  let slots = 16
  while (slots < 2 * entries) slots *= 2
  return slots
}

/** Contexts by number in the order in which they were first met, so that a parent has a lower one than its children. */
class Contexts {
  readonly #parent: Int32Array
  readonly #key: Int32Array
  /** Open addressing; a slot holds a number plus one. A `Map` would need a key object or string a node. */
  readonly #slots: Int32Array
  #count = 0

  constructor(most: number) {
    this.#parent = new Int32Array(most)
    this.#key = new Int32Array(most)
    this.#slots = new Int32Array(slotsFor(most))
  }

  /** By node of the tree: its context. */
  take(tree: Tree, numberOf: (method: number) => number): Int32Array {
    const of = new Int32Array(tree.count)
    for (let node = 0; node < tree.count; node++) {
      const above = tree.parent[node]
      of[node] = this.#context(above < 0 ? -1 : of[above], numberOf(tree.method[node]))
    }
    return of
  }

  #context(parent: number, key: number): number {
    const mask = this.#slots.length - 1
    const mixed = Math.imul(parent + 2, 0x9e3779b1) ^ Math.imul(key + 1, 0x85ebca6b)
    let slot = (mixed ^ (mixed >>> 15)) & mask
    for (let held = this.#slots[slot]; held !== 0; held = this.#slots[slot]) {
      if (this.#parent[held - 1] === parent && this.#key[held - 1] === key) return held - 1
      slot = (slot + 1) & mask
    }
    const context = this.#count++
    this.#parent[context] = parent
    this.#key[context] = key
    this.#slots[slot] = context + 1
    return context
  }

  /** `place` says where in preorder a context is; the other two are by place. */
  inPreorder(): { count: number; parent: Int32Array; size: Int32Array; place: Int32Array } {
    const count = this.#count
    const sizes = new Int32Array(count).fill(1)
    for (let it = count - 1; it >= 0; it--) if (this.#parent[it] >= 0) sizes[this.#parent[it]] += sizes[it]
    const place = new Int32Array(count)
    const parent = new Int32Array(count)
    const size = new Int32Array(count)
    // Where the next child goes: siblings are met in order, so each begins where the one before it ends.
    const next = new Int32Array(count)
    let nextTop = 0
    for (let it = 0; it < count; it++) {
      const above = this.#parent[it]
      const at = above < 0 ? nextTop : next[above]
      if (above < 0) nextTop += sizes[it]
      else next[above] += sizes[it]
      place[it] = at
      next[it] = at + 1
      parent[at] = above < 0 ? -1 : place[above]
      size[at] = sizes[it]
    }
    return { count, parent, size, place }
  }
}
