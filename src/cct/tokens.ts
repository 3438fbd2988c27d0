// Work that one thread has handed over and another may take up: which node a token stands for.

import { handedOverFrom, NODE, type Nodes } from './nodes.ts'

// As in present-thread.ts.
const { INTS, METHOD, PARENT } = NODE

/**
 * Tokens whose work may still begin. The target holds at most a quarter of that many tasks; the others are
 * of tasks that were dropped without a word, and the oldest of them are forgotten first.
 */
const TOKENS = 2 ** 18

export class Tokens {
  /** By token: the node that handed work over. */
  readonly #tokens = new Map<number, number>()
  /** By node that has handed work over: the node that stands for it, see #origin. */
  readonly #origins = new Map<number, number>()

  constructor(private readonly nodes: Nodes) {}

  has(token: number): boolean {
    return this.#tokens.has(token)
  }

  /** A node hands work over. */
  submit(token: number, node: number): void {
    this.#tokens.set(token, this.#origin(node))
    if (this.#tokens.size <= TOKENS) return
    for (const oldest of this.#tokens.keys()) {
      this.#tokens.delete(oldest)
      return
    }
  }

  /** Nodes have other indices now. */
  move(moved: Int32Array): void {
    for (const [token, node] of this.#tokens) this.#tokens.set(token, moved[node])
    this.#origins.clear()
  }

  /** The node that stands for the one which handed it over; undefined if that is not known. It is forgotten. */
  take(token: number): number | undefined {
    const from = this.#tokens.get(token)
    this.#tokens.delete(token)
    return from
  }

  /**
   * The context that stands for a node which hands work over. A task that hands itself over again, or one
   * that leads back to it, would make the tree deeper each time, without end. So if the way from a task's
   * beginning to the node is that by which the task itself was handed over, or one before it, that
   * earlier node stands for this one: recursion over hand-overs is folded.
   */
  #origin(node: number): number {
    const known = this.#origins.get(node)
    if (known !== undefined) return known
    // What a task submits outside all methods, as a periodic one does with itself, is of the same origin.
    const own = handedOverFrom(this.nodes.ints[node * INTS + METHOD])
    if (own >= 0) return own
    let origin = node
    for (let from = this.#comesFrom(node); from >= 0; from = this.#comesFrom(from)) {
      if (!this.#isSameWay(from, node)) continue
      origin = from
      break
    }
    this.#origins.set(node, origin)
    return origin
  }

  /** The node that handed over what the node is part of, -1 if that was not handed over. */
  #comesFrom(node: number): number {
    const { ints } = this.nodes
    let at = node
    while (ints[at * INTS + METHOD] >= 0) at = ints[at * INTS + PARENT]
    return handedOverFrom(ints[at * INTS + METHOD])
  }

  /** Whether the same methods lead to both, from where each one's thread or task began. */
  #isSameWay(one: number, other: number): boolean {
    const { ints } = this.nodes
    let [a, b] = [one, other]
    for (;;) {
      const method = ints[a * INTS + METHOD]
      const otherMethod = ints[b * INTS + METHOD]
      if (method < 0 || otherMethod < 0) return method < 0 && otherMethod < 0
      if (method !== otherMethod) return false
      a = ints[a * INTS + PARENT]
      b = ints[b * INTS + PARENT]
    }
  }
}
