// Nodes of growing trees: the records of nodes, the table that maps a parent and a method to the child, and the order in which methods
// first occurred. `builder.ts` handles the current nodes of threads and charges time to nodes.

import { enlarged } from '../base/enlarged.ts'
import { EX_UNAVAILABLE, JfluidError } from '../base/errors.ts'
import type { CallIds } from './call-ids.ts'
import { checkMethod } from './impossible.ts'

// A node is a record of 32 bytes, so that an event touches one cache line per node:
//
//   offset  size  type  field
//        0     4  i32   method     id, of a method or of a method and a call site (call-ids.ts); of a row of collapsed
//                                  contexts (collapse.ts): 0; of a top: minus its
//                                  thread's number, or VIRTUAL_TOP; of submitted work: HANDED_OVER minus the
//                                  submitting node
//        4     4  i32   parent     node, -1 for a top
//        8     4  i32   recent     child entered last; 0: none
//       12     4  i32   successor  sibling last entered directly after this node; 0: none
//       16     8  f64   calls
//       24     8  f64   ticks      measured, callees excluded
//
// Node 0 is unused: its method is never read. A node's index is higher than its parent's.
export const NODE = {
  INTS: 8,
  FLOATS: 4,
  METHOD: 0,
  PARENT: 1,
  RECENT: 2,
  SUCCESSOR: 3,
  CALLS: 2,
  TICKS: 3,
} as const

// V8 loads object members and exported constants at each use. Each module therefore has local copies of them, see thread-stack.ts.
const { INTS, FLOATS, METHOD, PARENT, RECENT, SUCCESSOR, CALLS, TICKS } = NODE

/** Method field of the top node that all virtual threads share. No thread has this number. */
export const VIRTUAL_TOP = -(2 ** 24)
/** Method field of a row of collapsed contexts, and the id of such rows in trees. No method has this id. */
export const COLLAPSED = 0
/** The method field of a pseudo node for work submitted by node n is this value minus n. Nodes are below 2^26. */
export const HANDED_OVER = VIRTUAL_TOP - 1

/** Returns the submitting node encoded in the method field of a pseudo node; -1 for the method field of any other node. */
export function handedOverFrom(method: number): number {
  return method <= HANDED_OVER ? HANDED_OVER - method : -1
}

const HASH_FULL = 0.7
const GROWTH = 1.5
const FIRST_NODES = 1024
/** Bit mask: a loop over all nodes calls `alive` at each node whose index has all these bits set, so every 65,536 nodes. */
export const ALIVE_NODES = 0xffff
/** Number of elements copied between two calls of `alive` when records grow: 4 MiB, a few milliseconds. */
const COPIED_INTS = 1 << 20

/** Thrown if there are too many contexts. Existing contexts are unchanged. */
export class TreeTooLarge extends JfluidError {
  static sample = () => new TreeTooLarge(4_000_000)
  readonly exitCode = EX_UNAVAILABLE
  readonly hint = 'Choose a root that calls less, or exclude the methods that recurse.'
  constructor(contexts: number) {
    super(`no memory is left for the calling context tree, at ${contexts} contexts`)
  }
}

export class Nodes {
  /** Records of all nodes. Replaced on growth. */
  ints: Int32Array
  floats: Float64Array
  /** Number of nodes, node 0 included. */
  count = 1
  /** Number of distinct methods so far. */
  methods = 0
  /** Null unless call sites are recorded. */
  ids: CallIds | null
  /** Number of pseudo nodes for submitted work. */
  pseudoNodes = 0
  /** Number of rows of collapsed contexts. */
  collapsedRows = 0
  /** Time when the next events were read, in ms of any clock. Negative if first calls are not recorded. */
  nowMs = -1
  /** Methods called for the first time, and the time of the first call of each. */
  #firstCalls: [method: number, ms: number][] = []
  #tops = 0
  /** Maps (parent, method) to node: open addressing, 0 is empty. */
  #table = new Int32Array(2048)
  /** Order of first occurrence of each id: 1, 2, 3 … */
  #ranks = new Int32Array(1024)
  #ranked = 0
  /** Per method: 1 if it has been called. */
  #called = new Uint8Array(1024)
  readonly #firstMethod: number
  readonly #maxNodes: number
  readonly #alive: () => void

  /**
   * @param maxNodes  limit; TreeTooLarge is thrown for a further node, and if an allocation fails
   * @param alive     called at intervals during long work
   * @param firstMethod lower ids stand for waiting
   */
  constructor(maxNodes: number, alive: () => void, firstMethod: number, ids: CallIds | null) {
    this.#maxNodes = maxNodes
    this.#alive = alive
    this.#firstMethod = firstMethod
    this.ids = ids
    const bytes = new ArrayBuffer(FIRST_NODES * INTS * 4)
    this.ints = new Int32Array(bytes)
    this.floats = new Float64Array(bytes)
    this.ints[METHOD] = -1
    this.ints[PARENT] = -1
  }

  /** Number of contexts so far, without pseudo nodes. */
  get contexts(): number {
    return this.count - 1 - this.#tops - this.pseudoNodes - this.collapsedRows
  }

  get bytes(): number {
    return this.ints.byteLength + this.#table.byteLength + this.#ranks.byteLength + this.#called.byteLength
  }

  isCalled(method: number): boolean {
    return this.#called[method] === 1
  }

  /** Returns methods first called since the last call of this function, each with the value of `nowMs` at its first call. */
  takeFirstCalls(): (readonly [method: number, ms: number])[] {
    const taken = this.#firstCalls
    this.#firstCalls = []
    return taken
  }

  /** Returns the rank of an id in the order of first occurrence: 1 for the first id, 2 for the second …; 0 if the id never occurred. */
  rank(id: number): number {
    return this.#ranks[id] ?? 0
  }

  /** Returns the method id of a node, without call site; a negative number for a top or a pseudo node. */
  methodOf(node: number): number {
    const id = this.ints[node * INTS + METHOD]
    return this.ids === null || id < 0 ? id : this.ids.methods[id]
  }

  /** Returns the child of `parent` with this id. Creates the child if it is missing. */
  find(parent: number, method: number): number {
    const { ints } = this
    const table = this.#table
    const mask = table.length - 1
    for (let at = hash(parent, method) & mask; ; at = (at + 1) & mask) {
      const node = table[at]
      if (node === 0) return this.#add(at, parent, method)
      if (ints[node * INTS + PARENT] === parent && ints[node * INTS + METHOD] === method) {
        return node
      }
    }
  }

  /** Returns the child of `caller` with this id. The child entered last, `recent`, has another id. */
  child(caller: number, recent: number, id: number): number {
    const expected = this.ints[recent * INTS + SUCCESSOR]
    let callee = expected
    if (this.ints[expected * INTS + METHOD] !== id) {
      callee = this.find(caller, id)
      if (recent !== 0) this.ints[recent * INTS + SUCCESSOR] = callee
    }
    this.ints[caller * INTS + RECENT] = callee
    return callee
  }

  /** Does the same as `child`, for a top. A top has no `recent` and no siblings: its successor field holds the root entered last. */
  rootBelow(top: number, id: number): number {
    const expected = this.ints[top * INTS + SUCCESSOR]
    if (this.ints[expected * INTS + METHOD] === id) return expected
    const root = this.find(top, id)
    this.ints[top * INTS + SUCCESSOR] = root
    return root
  }

  /**
   * Adds the calls and ticks of another tree below one of the tops of this tree.
   * @param sign  -1 subtracts the calls and ticks instead
   * @returns this tree's node for each node of the other tree
   */
  addTree(other: Nodes, top: number, sign: 1 | -1): Int32Array {
    const into = new Int32Array(other.count)
    for (let node = 1; node < other.count; node++) {
      if ((node & ALIVE_NODES) === ALIVE_NODES) this.#alive()
      const above = other.ints[node * INTS + PARENT]
      if (above < 0) {
        into[node] = top
        continue
      }
      const own = this.find(into[above], other.ints[node * INTS + METHOD])
      into[node] = own
      this.floats[own * FLOATS + CALLS] += sign * other.floats[node * FLOATS + CALLS]
      this.floats[own * FLOATS + TICKS] += sign * other.floats[node * FLOATS + TICKS]
    }
    return into
  }

  /** Sets calls and ticks of all contexts to 0. */
  clear(): void {
    for (let node = 0; node < this.count; node++) {
      if ((node & ALIVE_NODES) === ALIVE_NODES) this.#alive()
      this.floats[node * FLOATS + CALLS] = 0
      this.floats[node * FLOATS + TICKS] = 0
    }
  }

  /** @param method value of the top's method field */
  newTop(method: number): number {
    const node = this.#newNode(-1, method)
    this.#tops++
    return node
  }

  #add(at: number, parent: number, method: number): number {
    if (method >= 0 && this.ids === null) checkMethod(method)
    const node = this.#newNode(parent, method)
    this.#table[at] = node
    if (this.count > this.#table.length * HASH_FULL) this.#makeTable(this.#table.length * 2)
    if (method < 0) {
      this.pseudoNodes++
      return node
    }
    if (method >= this.#ranks.length) this.#ranks = enlarged(this.#ranks, method)
    if (this.#ranks[method] === 0) {
      this.#ranks[method] = ++this.#ranked
      this.#noteCalled(this.methodOf(node))
    }
    return node
  }

  #noteCalled(method: number): void {
    if (method >= this.#called.length) this.#called = enlarged(this.#called, method)
    if (this.#called[method] === 1) return
    this.#called[method] = 1
    if (method < this.#firstMethod) return
    this.methods++
    if (this.nowMs >= 0) this.#firstCalls.push([method, this.nowMs])
  }

  #newNode(parent: number, method: number): number {
    const node = this.count
    if (node >= this.#maxNodes) throw new TreeTooLarge(this.contexts)
    if (node * INTS === this.ints.length) this.#grow()
    this.count++
    this.ints[node * INTS + METHOD] = method
    this.ints[node * INTS + PARENT] = parent
    return node
  }

  #grow(): void {
    const old = this.ints
    this.#alive()
    const bytes = this.#room(Math.ceil(this.count * GROWTH) * INTS * 4)
    this.ints = new Int32Array(bytes)
    this.floats = new Float64Array(bytes)
    // The first write to new memory is slow: for a gigabyte, the writes take longer than the target's timeout.
    for (let at = 0; at < old.length; at += COPIED_INTS) {
      this.#alive()
      this.ints.set(old.subarray(at, at + COPIED_INTS), at)
    }
    this.#alive()
  }

  #room(bytes: number): ArrayBuffer {
    try {
      return new ArrayBuffer(bytes)
    } catch {
      throw new TreeTooLarge(this.contexts)
    }
  }

  /**
   * Replaces all nodes.
   * @param rows    number of rows of collapsed contexts
   * @param pseudo  number of pseudo nodes of submitted work; default: unchanged
   */
  replace(bytes: ArrayBuffer, count: number, rows = 0, pseudo = this.pseudoNodes): void {
    this.ints = new Int32Array(bytes)
    this.floats = new Float64Array(bytes)
    this.count = count
    this.collapsedRows = rows
    this.pseudoNodes = pseudo
    this.#makeTable(this.#table.length)
  }

  #makeTable(length: number): void {
    const table = length === this.#table.length ? this.#table.fill(0) : new Int32Array(this.#room(length * 4))
    const mask = table.length - 1
    for (let node = 1; node < this.count; node++) {
      if ((node & ALIVE_NODES) === ALIVE_NODES) this.#alive()
      const parent = this.ints[node * INTS + PARENT]
      if (parent < 0) continue
      let at = hash(parent, this.ints[node * INTS + METHOD]) & mask
      while (table[at] !== 0) at = (at + 1) & mask
      table[at] = node
    }
    this.#table = table
  }
}

function hash(parent: number, method: number): number {
  const mixed = Math.imul(parent, 0x9e3779b1) ^ Math.imul(method, 0x85ebca6b)
  return mixed ^ (mixed >>> 15)
}
