// What all calls of each root have taken so far, without a picture: a few nanoseconds a node.

import type { CctBuilder } from './builder.ts'
import { NODE_CALLS, NODE_FLOATS, NODE_INTS, NODE_METHOD, NODE_PARENT, NODE_TICKS } from './nodes.ts'
import type { RootTimes } from './uncertainty.ts'

export interface RootSum extends RootTimes {
  readonly method: number
}

export class RootSums {
  /** By node: its outermost root, which is another only when nodes have moved; 0 for what is above. */
  #rootOf = new Int32Array(0)
  #known = 1
  #moves = 0

  /** Of all threads together. Calls that have not ended count, with what they have taken up to their latest event. */
  of({ ints, floats, count, probeHalves, moves }: CctBuilder): RootSum[] {
    if (moves !== this.#moves) this.#known = 1
    this.#moves = moves
    this.#learn(ints, count)
    const rootOf = this.#rootOf
    const sums = new Map<
      number,
      { method: number; calls: number; ticks: number; allCalls: number; halves: number }
    >()
    let root = 0
    let sum = { method: 0, calls: 0, ticks: 0, allCalls: 0, halves: 0 }
    const sumOf = (node: number) => {
      const method = ints[node * NODE_INTS + NODE_METHOD]
      let found = sums.get(method)
      if (found === undefined) {
        found = { method, calls: 0, ticks: 0, allCalls: 0, halves: 0 }
        sums.set(method, found)
      }
      return found
    }
    for (let node = 1; node < count; node++) {
      if (rootOf[node] === 0) continue
      if (rootOf[node] !== root) {
        root = rootOf[node]
        sum = sumOf(root)
      }
      const calls = floats[node * NODE_FLOATS + NODE_CALLS]
      if (node === root) sum.calls += calls
      sum.allCalls += calls
      sum.ticks += floats[node * NODE_FLOATS + NODE_TICKS]
    }
    for (const [node, halves] of probeHalves) if (rootOf[node] > 0) sumOf(rootOf[node]).halves += halves
    return [...sums.values()]
  }

  #learn(ints: Int32Array, count: number): void {
    if (count > this.#rootOf.length) {
      const grown = new Int32Array(count * 2)
      grown.set(this.#rootOf.subarray(0, this.#known))
      this.#rootOf = grown
    }
    for (let node = this.#known; node < count; node++) {
      const above = ints[node * NODE_INTS + NODE_PARENT]
      this.#rootOf[node] = 0
      if (above < 0) continue
      const isRoot = ints[above * NODE_INTS + NODE_PARENT] < 0
      this.#rootOf[node] = isRoot ? node : this.#rootOf[above]
    }
    this.#known = count
  }
}
