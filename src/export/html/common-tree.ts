// A tree with the contexts of several trees. Contexts are equal if their methods have equal names, from the top down.

import type { Tree } from '../../cct/tree.ts'

export class CommonTree {
  readonly #method: number[] = []
  readonly #parent: number[] = []
  /** Contexts by name, per parent; the first entry is for contexts without a parent. */
  readonly #below: Map<number, number>[] = [new Map()]

  /**
   * Adds the contexts of a tree.
   * @param nameOf  returns the number of a method id's name
   * @returns the common context per node
   */
  add({ count, method, parent }: Tree, nameOf: (id: number) => number): Int32Array {
    const found = new Int32Array(count)
    for (let node = 0; node < count; node++) {
      const above = parent[node]! < 0 ? -1 : found[parent[node]!]!
      found[node] = this.#contextOf(above, nameOf(method[node]!))
    }
    return found
  }

  #contextOf(above: number, name: number): number {
    const siblings = this.#below[above + 1]!
    const known = siblings.get(name)
    if (known !== undefined) return known
    const made = this.#method.push(name) - 1
    this.#parent.push(above)
    this.#below.push(new Map())
    siblings.set(name, made)
    return made
  }

  /** Returns the contexts in preorder. `method`: numbers of names. `place`: position in preorder, per common context. */
  inPreorder(): Pick<Tree, 'method' | 'parent' | 'size'> & { readonly place: Int32Array } {
    const count = this.#method.length
    const tree = {
      ...{
        method: new Int32Array(count),
        parent: new Int32Array(count),
        size: new Int32Array(count).fill(1),
      },
      place: new Int32Array(count),
    }
    const open = [...this.#below[0]!.values()].reverse()
    for (let at = 0; at < count; at++) {
      const context = open.pop()!
      const above = this.#parent[context]!
      tree.place[context] = at
      tree.method[at] = this.#method[context]!
      tree.parent[at] = above < 0 ? -1 : tree.place[above]!
      for (const child of [...this.#below[context + 1]!.values()].reverse()) open.push(child)
    }
    for (let at = count - 1; at >= 0; at--)
      if (tree.parent[at]! >= 0) tree.size[tree.parent[at]!]! += tree.size[at]!
    return tree
  }
}
