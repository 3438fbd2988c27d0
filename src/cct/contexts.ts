// Contexts of several trees, identified by the keys of their methods from the top down. Trees of different sessions are therefore matched
// by name. The algorithm is iterative and reads each tree once.

import type { Tree } from './tree.ts'

/** Returns the key of a method: equal keys mean the same method. Called once per method id. */
export type KeyOf = (method: number) => string | number

/** Returns a function that maps a method id of the tree to the number of the method's key. */
export function numbered(keyOf: KeyOf, numbers: Map<string | number, number>): (method: number) => number {
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

/** Returns the smallest power of two that is at least twice `entries`. */
function slotsFor(entries: number): number {
  let slots = 16
  while (slots < 2 * entries) slots *= 2
  return slots
}

/** Contexts numbered in the order of first occurrence, so that a parent has a lower number than its children. */
export class Contexts {
  readonly #parent: Int32Array
  readonly #key: Int32Array
  /** Open addressing; a slot holds a number plus one. A `Map` would need a key object or string per node. */
  readonly #slots: Int32Array
  #count = 0

  constructor(most: number) {
    this.#parent = new Int32Array(most)
    this.#key = new Int32Array(most)
    this.#slots = new Int32Array(slotsFor(most))
  }

  /** Returns the context of each node of the tree. */
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

  /** Returns the contexts in preorder. `place` maps a context to its position; `parent` and `size` are indexed by position. */
  inPreorder(): { count: number; parent: Int32Array; size: Int32Array; place: Int32Array } {
    const count = this.#count
    const sizes = new Int32Array(count).fill(1)
    for (let it = count - 1; it >= 0; it--) if (this.#parent[it] >= 0) sizes[this.#parent[it]] += sizes[it]
    const place = new Int32Array(count)
    const parent = new Int32Array(count)
    const size = new Int32Array(count)
    // Position of the next child. Siblings are visited in order, so each begins at the end of the previous sibling.
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
