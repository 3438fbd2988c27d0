// Finds nodes by name in display order. The search includes nodes that are not visible because a caller is closed.

import type { NameText, TreeRows } from './rows.ts'

/** Returns a predicate: the name of a method contains the text, ignoring case. An empty text matches no method. */
export function matcher(text: string, nameText: NameText): (method: number) => boolean {
  const wanted = text.toLowerCase()
  const known: (boolean | undefined)[] = []
  return (method) => {
    if (wanted === '') return false
    known[method] ??= nameText(method).toLowerCase().includes(wanted)
    return known[method]
  }
}

/** Nodes of a tree with a matching method. */
export class NodeMatches {
  readonly #rows: TreeRows
  /** Element i is the number of matches among the first i nodes. The number of matches in a subtree is a difference of two elements. */
  readonly #before: Int32Array

  constructor(rows: TreeRows, matches: (method: number) => boolean) {
    this.#rows = rows
    const { count, method } = rows.tree
    this.#before = new Int32Array(count + 1)
    for (let i = 0; i < count; i++) this.#before[i + 1] = this.#before[i]! + (matches(method[i]!) ? 1 : 0)
  }

  get count(): number {
    return this.#before[this.#before.length - 1]!
  }

  #is(node: number): boolean {
    return this.#before[node + 1] !== this.#before[node]
  }

  #inside(node: number): boolean {
    return this.#before[node + this.#rows.tree.size[node]!]! > this.#before[node]!
  }

  #below(node: number): boolean {
    return this.#before[node + this.#rows.tree.size[node]!]! > this.#before[node + 1]!
  }

  /** Returns the next match after `node`, or the first match for -1. Wraps at the end. Returns -1 if there is no match. */
  next(node: number): number {
    if (this.count === 0) return -1
    if (node >= 0 && this.#below(node)) return this.#first(this.#rows.children(node))
    for (let at = node; at >= 0; at = this.#rows.tree.parent[at]!) {
      const siblings = this.#rows.children(this.#rows.tree.parent[at]!)
      const found = this.#first(siblings.slice(siblings.indexOf(at) + 1))
      if (found >= 0) return found
    }
    return this.#first(this.#rows.children(-1))
  }

  /** Returns the match before `node`. Wraps at the start. Returns -1 if there is no match. */
  previous(node: number): number {
    if (this.count === 0) return -1
    for (let at = node; at >= 0; at = this.#rows.tree.parent[at]!) {
      const above = this.#rows.tree.parent[at]!
      const siblings = this.#rows.children(above)
      const found = this.#last(siblings.slice(0, siblings.indexOf(at)))
      if (found >= 0) return found
      if (above >= 0 && this.#is(above)) return above
    }
    return this.#last(this.#rows.children(-1))
  }

  /** Returns the first match in the subtrees of these siblings, in display order. */
  #first(siblings: readonly number[]): number {
    let node = siblings.find((each) => this.#inside(each)) ?? -1
    while (node >= 0 && !this.#is(node))
      node = this.#rows.children(node).find((each) => this.#inside(each)) ?? -1
    return node
  }

  #last(siblings: readonly number[]): number {
    let node = siblings.findLast((each) => this.#inside(each)) ?? -1
    while (node >= 0 && this.#below(node)) {
      node = this.#rows.children(node).findLast((each) => this.#inside(each)) ?? -1
    }
    return node
  }
}
