// Which objects are still alive, and where they were made (--liveness).
//
// Two tellers: the ring says by token in what context an object was made, the agent which tokens stand for objects that
// live. Neither waits for the other. A token is a place in the target's table and a generation of it, so what one of them
// says of an object that the other has left behind, or has not come to yet, meets another generation and counts nothing.

const PLACES = 2 ** 16
const GENERATION_BITS = 9

/** What the agent has seen since it last looked: numbers of eight bytes. */
export interface SurvivorNews {
  /** In the target, so far. */
  readonly collections: number
  /** Objects that there was no place for, since the session began. */
  readonly untracked: number
  /** Token, collections when it was made, bytes; one after the other. */
  readonly came: Uint8Array
  /** Tokens. */
  readonly went: Uint8Array
}

export class Survivors {
  collections = 0
  untracked = 0
  /** By place: a node and the token it is for; what the agent says of a token. */
  readonly #nodes = new Int32Array(PLACES)
  readonly #tokens = new Int32Array(PLACES).fill(-1)
  readonly #living = new Int32Array(PLACES).fill(-1)
  readonly #born = new Float64Array(PLACES)
  readonly #bytes = new Float64Array(PLACES)

  /** An object has been made in the context of this node. */
  place(token: number, node: number): void {
    const at = token >>> GENERATION_BITS
    this.#nodes[at] = node
    this.#tokens[at] = token
  }

  hear({ collections, untracked, came, went }: SurvivorNews): void {
    this.collections = collections
    this.untracked = untracked
    // Places are given back before they are taken again.
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

  /** Nodes have other indices now. */
  move(moved: Int32Array): void {
    for (let at = 0; at < PLACES; at++) this.#nodes[at] = moved[this.#nodes[at]!]!
  }

  /** Objects made so far are of no interest any more. */
  forget(): void {
    this.#tokens.fill(-1)
  }

  /** Calls `take` with each object that lives. Its age is in collections. */
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
