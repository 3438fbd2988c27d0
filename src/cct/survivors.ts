// Tracks live objects and the contexts that allocated them (--liveness).
//
// The data have two unsynchronized sources. The event buffer reports the context in which each token was allocated. The agent reports the
// tokens of live objects. A token consists of an index in the target's table and a generation. If one source is ahead of the other source,
// the generations differ, and the object is ignored.

const PLACES = 2 ** 16
const GENERATION_BITS = 9

/** Changes since the agent's previous check. Each number in the byte arrays has eight bytes. */
export interface SurvivorNews {
  /** Number of garbage collections in the target so far. */
  readonly collections: number
  /** Number of objects since the session began that are not tracked because the table was full. */
  readonly untracked: number
  /** Three numbers per new object: token, number of collections at allocation, and bytes. */
  readonly came: Uint8Array
  /** Tokens of objects that have been collected. */
  readonly went: Uint8Array
}

export class Survivors {
  collections = 0
  untracked = 0
  /**
   * The arrays have one entry per table index. The allocation event gives the node and the token of the object. The agent gives the token
   * of a living object, the collection before which it was allocated, and its size.
   */
  readonly #nodes = new Int32Array(PLACES)
  readonly #tokens = new Int32Array(PLACES).fill(-1)
  readonly #living = new Int32Array(PLACES).fill(-1)
  readonly #born = new Float64Array(PLACES)
  readonly #bytes = new Float64Array(PLACES)

  /** Registers an object that was allocated in the context of this node. */
  place(token: number, node: number): void {
    const at = token >>> GENERATION_BITS
    this.#nodes[at] = node
    this.#tokens[at] = token
  }

  hear({ collections, untracked, came, went }: SurvivorNews): void {
    this.collections = collections
    this.untracked = untracked
    // Dead objects are removed first, since new objects may reuse their indices.
    for (const token of numbers(went)) {
      const at = token! >>> GENERATION_BITS
      if (this.#living[at] === token) this.#living[at] = -1
    }
    const rows = numbers(came)
    for (let i = 0; i + 2 < rows.length; i += 3) {
      const token = rows[i]!
      const at = token >>> GENERATION_BITS
      this.#living[at] = token
      this.#born[at] = rows[i + 1]!
      this.#bytes[at] = rows[i + 2]!
    }
  }

  /** Applies new node indices. */
  move(moved: Int32Array): void {
    for (let at = 0; at < PLACES; at++) this.#nodes[at] = moved[this.#nodes[at]!]!
  }

  /** Forgets all objects allocated so far. */
  forget(): void {
    this.#tokens.fill(-1)
  }

  /** Calls `take` for each live object. `age` is the number of garbage collections that the object has survived. */
  forEach(take: (node: number, bytes: number, age: number) => void): void {
    for (let at = 0; at < PLACES; at++) {
      const token = this.#tokens[at]!
      if (token < 0 || token !== this.#living[at]) continue
      take(this.#nodes[at]!, this.#bytes[at]!, Math.max(0, this.collections - this.#born[at]!))
    }
  }
}

function numbers(bytes: Uint8Array): number[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const found: number[] = []
  for (let at = 0; at + 8 <= bytes.byteLength; at += 8) found.push(Number(view.getBigInt64(at, true)))
  return found
}
