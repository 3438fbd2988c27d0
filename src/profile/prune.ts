// Selects the nodes of a tree for a page: at most N nodes with a minimum share of their root's cost, largest first.

import { costsOf } from '../cct/metric.ts'
import type { Tree } from '../cct/tree.ts'

export interface Pruned {
  /** One entry per node: 1 if the node is shown. The parent of a shown node is always shown. */
  readonly kept: Uint8Array
  readonly keptCount: number
}

/**
 * Chooses nodes from the roots downwards, largest total first.
 * @param share  minimum total of a shown node, as a share of its root's total
 * @param most   maximum number of nodes
 */
export function prune(tree: Tree, share: number, most: number): Pruned {
  const { total } = costsOf(tree)
  const kept = new Uint8Array(tree.count)
  const queue = new LargestFirst(total)
  const threshold = new Float64Array(tree.count)
  for (let i = 0; i < tree.count; i += tree.size[i]!) {
    threshold[i] = total[i]! * share
    queue.push(i)
  }
  let keptCount = 0
  for (let node = queue.pop(); node >= 0 && keptCount < most; node = queue.pop()) {
    kept[node] = 1
    keptCount++
    const end = node + tree.size[node]!
    for (let child = node + 1; child < end; child += tree.size[child]!) {
      threshold[child] = threshold[node]!
      if (total[child]! >= threshold[child]!) queue.push(child)
    }
  }
  return { kept, keptCount }
}

/** Returns the children of `node` (or the roots, for -1), largest total first. */
export function childrenByTotal(tree: Tree, node: number): number[] {
  const { total } = costsOf(tree)
  const found: number[] = []
  const end = node < 0 ? tree.count : node + tree.size[node]!
  for (let child = node + 1; child < end; child += tree.size[child]!) found.push(child)
  return found.sort((a, b) => total[b]! - total[a]! || a - b)
}

/** A binary heap of nodes, ordered by weight. */
class LargestFirst {
  readonly #heap: number[] = []

  constructor(private readonly weight: Float64Array) {}

  #before(a: number, b: number): boolean {
    const [wa, wb] = [this.weight[a]!, this.weight[b]!]
    return wa > wb || (wa === wb && a < b)
  }

  push(node: number): void {
    const heap = this.#heap
    let at = heap.length
    heap.push(node)
    while (at > 0) {
      const above = (at - 1) >> 1
      if (!this.#before(node, heap[above]!)) break
      heap[at] = heap[above]!
      at = above
    }
    heap[at] = node
  }

  /** Removes and returns the node with the largest weight, -1 when empty. */
  pop(): number {
    const heap = this.#heap
    const first = heap[0]
    if (first === undefined) return -1
    const last = heap.pop()!
    const length = heap.length
    if (length === 0) return first
    let at = 0
    for (;;) {
      let below = 2 * at + 1
      if (below >= length) break
      if (below + 1 < length && this.#before(heap[below + 1]!, heap[below]!)) below++
      if (!this.#before(heap[below]!, last)) break
      heap[at] = heap[below]!
      at = below
    }
    heap[at] = last
    return first
  }
}
