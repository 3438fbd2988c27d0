// Work submitted to another thread: maps tokens to the submitting nodes.

import { handedOverFrom, NODE, type Nodes } from './nodes.ts'

// Local constants for speed, as in thread-stack.ts.
const { INTS, METHOD, PARENT } = NODE

/**
 * Maximum number of tokens of pending work. The target holds at most a quarter as many tasks. The other tokens belong to tasks
 * that were dropped without an event; the oldest tokens are discarded first.
 */
const TOKENS = 2 ** 18

export class Tokens {
  /** Maps a token to the submitting node. */
  readonly #tokens = new Map<number, number>()
  /** Maps each submitting node to its representative, see #origin. */
  readonly #origins = new Map<number, number>()

  constructor(private readonly nodes: Nodes) {}

  has(token: number): boolean {
    return this.#tokens.has(token)
  }

  /** Registers the submission of work by a node. */
  submit(token: number, node: number): void {
    this.#tokens.set(token, this.#origin(node))
    if (this.#tokens.size <= TOKENS) return
    for (const oldest of this.#tokens.keys()) {
      this.#tokens.delete(oldest)
      return
    }
  }

  /** Replaces node indices by new indices. */
  move(moved: Int32Array): void {
    for (const [token, node] of this.#tokens) this.#tokens.set(token, moved[node])
    this.#origins.clear()
  }

  /** Removes a token. Returns the representative of its submitting node; undefined if the token is unknown. */
  take(token: number): number | undefined {
    const from = this.#tokens.get(token)
    this.#tokens.delete(token)
    return from
  }

  /**
   * Returns the representative of a submitting node. Without representatives, each resubmission by a task of itself would deepen the tree.
   * The submitter of the node's task, the submitter of that submitter's task, and so on, are compared with the node. The representative is
   * the first of them with the same path from the start of its task, otherwise the node itself. Recursive submissions thus share one node.
   */
  #origin(node: number): number {
    const known = this.#origins.get(node)
    if (known !== undefined) return known
    // If a task submits work outside all methods, as a periodic task resubmits itself, the work has the same origin as the task.
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

  /** Returns the submitter of the task that contains the node; -1 if the node is in no task. */
  #comesFrom(node: number): number {
    const { ints } = this.nodes
    let at = node
    while (ints[at * INTS + METHOD] >= 0) at = ints[at * INTS + PARENT]
    return handedOverFrom(ints[at * INTS + METHOD])
  }

  /** Returns whether two nodes have the same path of methods from the start of the thread or task. */
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
