// Shrinks a tree of exact calls: the cheapest contexts are merged into a row of collapsed contexts below the nearest remaining caller. The
// row holds their sums, so children plus self still equal the parent. Only the structure of the merged
// contexts is lost: which of them called which. `collapsed.ts` keeps the sums of each merged method.

import { ALIVE_NODES, COLLAPSED, HANDED_OVER, handedOverFrom, NODE } from './nodes.ts'

// Local constants for speed, as in thread-stack.ts.
const { INTS, FLOATS, METHOD, PARENT, CALLS, TICKS } = NODE

/** Buckets of cost: 16 per power of two. */
const BUCKETS = 16 * 64
const FRACTION_SHIFT = 20 - 4
const BUCKET_OF_ONE = 1023 << 4
/** Every method field is greater than -METHODS. The lowest method fields are HANDED_OVER minus a node. */
const METHODS = 2 ** 27
const KEYS = 2 ** 28

export interface CollapseOptions {
  /** Approximate number of nodes that remain; the current nodes of threads always remain. */
  readonly target: number
  /** Current nodes of threads. */
  readonly places: Iterable<number>
  /** Ids below this one are not methods, but waits or allocated classes, which keep their own rows. */
  readonly firstMethod: number
  readonly alive: () => void
}

export interface Collapse {
  /** Records of the remaining nodes. Sibling links are reset. */
  readonly bytes: ArrayBuffer
  readonly count: number
  /** New index of each old node: a row of collapsed contexts if the node was merged. */
  readonly moved: Int32Array
  /** Per old node: 1 if it remains and was not merged. */
  readonly stays: Uint8Array
  /**
   * Calls of old nodes that were merged into a wait, such as JDK methods called while a thread waits. These calls are counted nowhere else.
   */
  readonly callsInWaits: ReadonlyMap<number, number>
  /** Number of rows of collapsed contexts, and of nodes of submitted work. */
  readonly rows: number
  readonly pseudo: number
}

/** Merges the cheapest contexts. Each node has a higher index than its parent, before and after the change. */
export function collapse(
  { ints, floats, count }: { ints: Int32Array; floats: Float64Array; count: number },
  options: CollapseOptions,
): Collapse {
  const { alive, firstMethod } = options
  const stays = whatStays(ints, floats, count, options)
  alive()
  const into = new Rebuilt(ints, count)
  const moved = new Int32Array(count)
  const callsInWaits = new Map<number, number>()
  for (let node = 1; node < count; node++) {
    if ((node & ALIVE_NODES) === ALIVE_NODES) alive()
    const parent = ints[node * INTS + PARENT]
    const method = ints[node * INTS + METHOD]
    const calls = floats[node * FLOATS + CALLS]
    const ticks = floats[node * FLOATS + TICKS]
    if (stays[node] === 1) {
      const from = parent < 0 ? -1 : handedOverFrom(method)
      const own = from < 0 ? method : HANDED_OVER - moved[from]
      moved[node] = into.child(parent < 0 ? -1 : moved[parent], own, from >= 0)
      into.add(moved[node], calls, ticks)
      continue
    }
    const above = moved[parent]
    const row = stays[parent] === 1 ? into.child(above, COLLAPSED, true) : above
    // If the caller was merged, `row` is a row of collapsed contexts, or a row of waiting inside a row of collapsed contexts.
    if (into.methodOf(row) !== COLLAPSED) {
      moved[node] = row
      callsInWaits.set(node, calls)
      into.add(row, 0, ticks)
      continue
    }
    moved[node] = method > 0 && method < firstMethod ? into.child(row, method, true) : row
    into.add(moved[node], calls, ticks)
  }
  return {
    bytes: into.bytes,
    count: into.count,
    moved,
    stays,
    callsInWaits,
    rows: into.rows,
    pseudo: into.pseudo,
  }
}

/** Returns, per node, 1 if the node remains. */
function whatStays(
  ints: Int32Array,
  floats: Float64Array,
  count: number,
  { target, places, alive }: CollapseOptions,
): Uint8Array {
  const costs = new Float64Array(count)
  /** Lowest bucket of any child, per node. */
  const lowest = new Int16Array(count).fill(BUCKETS)
  const bucket = new Int16Array(count)
  /** Per bucket: how many more nodes remain if this bucket remains, too, and only lower buckets are merged. Includes collapsed rows. */
  const kept = new Int32Array(BUCKETS + 2)
  for (let node = count - 1; node > 0; node--) {
    if ((node & ALIVE_NODES) === ALIVE_NODES) alive()
    // Subtracted pauses and clock corrections can make ticks negative.
    costs[node] += Math.max(0, floats[node * FLOATS + TICKS]) + floats[node * FLOATS + CALLS]
    const parent = ints[node * INTS + PARENT]
    const isTop = parent < 0
    const own = isTop || isRoot(ints, node, parent) ? BUCKETS - 1 : bucketOf(costs[node])
    bucket[node] = own
    kept[own]++
    // A node with children on both sides of the limit needs a row for the merged children.
    if (lowest[node] < own) kept[own]++
    if (lowest[node] < own) kept[lowest[node]]--
    if (isTop) continue
    costs[parent] += costs[node]
    if (own < lowest[parent]) lowest[parent] = own
  }
  let limit = BUCKETS - 1
  let staying = 0
  for (; limit > 0 && staying + kept[limit] <= target; limit--) staying += kept[limit]
  // Not all nodes in the bucket `limit` fit. The first of them remain, since a parent precedes its children.
  let room = Math.max(0, target - staying)
  const stays = new Uint8Array(count)
  for (let node = 1; node < count; node++) {
    if ((node & ALIVE_NODES) === ALIVE_NODES) alive()
    const parent = ints[node * INTS + PARENT]
    if (parent < 0 || isRoot(ints, node, parent)) stays[node] = 1
    else if (stays[parent] === 0) continue
    else if (bucket[node] > limit) stays[node] = 1
    else if (bucket[node] === limit && room-- > 0) stays[node] = 1
    else if (isOfRow(ints, node, parent)) stays[node] = 1
  }
  for (const place of places) {
    for (let node = place; node > 0 && stays[node] === 0; node = ints[node * INTS + PARENT]) stays[node] = 1
  }
  return stays
}

/** Returns whether a node is a root: the cost of a whole root call must stay known. */
function isRoot(ints: Int32Array, node: number, parent: number): boolean {
  return ints[parent * INTS + PARENT] < 0 && ints[node * INTS + METHOD] > 0
}

/**
 * Returns whether a node is a row of collapsed contexts, or a node inside a row. A row is merged only together with its caller, and a node
 * inside a row only together with the row.
 */
function isOfRow(ints: Int32Array, node: number, parent: number): boolean {
  return ints[node * INTS + METHOD] === COLLAPSED || ints[parent * INTS + METHOD] === COLLAPSED
}

const double = new Float64Array(1)
const halves = new Uint32Array(double.buffer)

/** Returns the bucket of a cost: the exponent and the first fraction bits of the floating-point number. */
function bucketOf(cost: number): number {
  if (cost < 1) return 0
  double[0] = cost
  return Math.min(BUCKETS - 2, (halves[1] >>> FRACTION_SHIFT) - BUCKET_OF_ONE + 1)
}

/** Remaining nodes, appended in order. */
class Rebuilt {
  readonly bytes: ArrayBuffer
  count = 1
  rows = 0
  pseudo = 0
  readonly #ints: Int32Array
  readonly #floats: Float64Array
  /** Nodes that several old nodes may be merged into, keyed by parent and method. */
  readonly #shared = new Map<number, number>()
  /** Per node: 1 if several old nodes may also be merged into each of its children. */
  readonly #isShared: Uint8Array
  /** Row of collapsed contexts below each node; 0 if none yet. */
  readonly #rowOf: Int32Array

  constructor(old: Int32Array, count: number) {
    this.bytes = new ArrayBuffer(old.byteLength)
    this.#ints = new Int32Array(this.bytes)
    this.#floats = new Float64Array(this.bytes)
    this.#ints[METHOD] = this.#ints[PARENT] = -1
    this.#isShared = new Uint8Array(count + 1)
    this.#rowOf = new Int32Array(count + 1)
  }

  /** @param isShared  whether other old nodes may be merged into this node */
  child(parent: number, method: number, isShared: boolean): number {
    if (method === COLLAPSED) {
      if (this.#rowOf[parent] === 0) this.#rowOf[parent] = this.#make(parent, method)
      return this.#rowOf[parent]
    }
    if (parent < 0 || !(isShared || this.#isShared[parent] === 1)) return this.#make(parent, method)
    const key = parent * KEYS + method + METHODS
    const known = this.#shared.get(key)
    if (known !== undefined) {
      this.#isShared[known] = 1
      return known
    }
    const node = this.#make(parent, method)
    if (this.#isShared[parent] === 1) this.#isShared[node] = 1
    this.#shared.set(key, node)
    return node
  }

  add(node: number, calls: number, ticks: number): void {
    this.#floats[node * FLOATS + CALLS] += calls
    this.#floats[node * FLOATS + TICKS] += ticks
  }

  methodOf(node: number): number {
    return this.#ints[node * INTS + METHOD]
  }

  #make(parent: number, method: number): number {
    const node = this.count++
    this.#ints[node * INTS + METHOD] = method
    this.#ints[node * INTS + PARENT] = parent
    if (parent >= 0 && method < 0) this.pseudo++
    if (method === COLLAPSED) {
      this.rows++
      this.#isShared[node] = 1
    }
    return node
  }
}
