// Where work that was handed over belongs: below the context that handed it over.
//
// The builder hangs it below a pseudo node in the tree of the thread that did it. Here the pseudo node
// gives way to the path of the context it names, in that same tree: so a thread's tree holds what the
// thread did, and when trees are merged the path meets that of the submitting thread. Nodes of a path
// that the thread never ran itself have no calls and no self time; their total is that of their children.
//
// A caller's clock ran while a thread of another did the work, and nothing of it was taken out of either:
// totals are sums over threads, parents are still self time and children.

import { ALIVE_NODES, handedOverFrom } from './nodes.ts'

/** Nodes in any order that has parents before children; tops have parent -1. */
export interface Forest {
  readonly count: number
  readonly method: Int32Array
  readonly parent: Int32Array
  readonly calls: Float64Array
  readonly ticks: Float64Array
  readonly warmCalls: Float64Array
  readonly warmTicks: Float64Array
  /** Of `calls`, those that the parent did not make itself; null if there are none anywhere. */
  readonly handed: Float64Array | null
  readonly warmHanded: Float64Array | null
  /** Of the calls of a row of collapsed contexts, those that its caller has not made itself; null if there are no such rows. */
  readonly shift: Float64Array | null
  readonly warmShift: Float64Array | null
  /** Of objects that were made here and are alive: how many, their bytes, the sum of their ages. Null if not looked after. */
  readonly alive: readonly [Float64Array, Float64Array, Float64Array] | null
}

/**
 * The same forest with every pseudo node replaced by the path it stands for. Time charged to pseudo nodes
 * is left out.
 *
 * @param alive called every few milliseconds
 */
export function withPaths(forest: Forest, alive: () => void): Forest {
  const out = new Growing(forest.count, forest.alive !== null)
  const into = new Int32Array(forest.count).fill(-1)
  /** By thread's top and submitting node, both of `out`: its twin below that top. */
  const twins = new Map<number, number>()
  for (let from = 1; from < forest.count; from++) {
    if ((from & ALIVE_NODES) === ALIVE_NODES) alive()
    const parent = forest.parent[from]
    const method = forest.method[from]
    if (parent < 0) {
      into[from] = out.add(-1, method)
      continue
    }
    const submitter = handedOverFrom(method)
    if (submitter >= 0) {
      // A submitter has a lower index than what it handed over, so it is in place.
      into[from] = twin(out, into[parent], into[submitter], twins)
      continue
    }
    const node = out.child(into[parent], method)
    into[from] = node
    out.calls[node] += forest.calls[from]
    out.ticks[node] += forest.ticks[from]
    for (const [i, of] of forest.alive?.entries() ?? []) out.alive![i]![node]! += of[from]!
    const isHanded = handedOverFrom(forest.method[parent]) >= 0
    const shift = forest.shift?.[from] ?? 0
    out.shift[node] += shift
    if (isHanded) out.handed[node] += forest.calls[from] - shift
    if (from >= forest.warmCalls.length) continue
    out.warmCalls[node] += forest.warmCalls[from]
    out.warmTicks[node] += forest.warmTicks[from]
    const warmShift = forest.warmShift?.[from] ?? 0
    out.warmShift[node] += warmShift
    if (isHanded) out.warmHanded[node] += forest.warmCalls[from] - warmShift
  }
  return out
}

/** The node below `top` that has the path of `node`, made if need be. Contexts are deep: no recursion. */
function twin(out: Growing, top: number, node: number, twins: Map<number, number>): number {
  const missing: number[] = []
  let at = node
  let found = top
  for (; out.parent[at] >= 0; at = out.parent[at]) {
    const known = twins.get(top * 2 ** 26 + at)
    if (known !== undefined) {
      found = known
      break
    }
    missing.push(at)
  }
  for (let i = missing.length - 1; i >= 0; i--) {
    found = out.child(found, out.method[missing[i]])
    twins.set(top * 2 ** 26 + missing[i], found)
  }
  return found
}

/** A forest that nodes are added to. */
class Growing implements Forest {
  count = 0
  method: Int32Array
  parent: Int32Array
  calls: Float64Array
  ticks: Float64Array
  warmCalls: Float64Array
  warmTicks: Float64Array
  handed: Float64Array
  warmHanded: Float64Array
  shift: Float64Array
  warmShift: Float64Array
  alive: [Float64Array, Float64Array, Float64Array] | null
  /** (parent, method) to node + 1: open addressing, 0 is empty. */
  #table: Int32Array

  constructor(room: number, looksAfter: boolean) {
    const column = () => new Float64Array(room)
    this.alive = looksAfter ? [column(), column(), column()] : null
    this.method = new Int32Array(room)
    this.parent = new Int32Array(room)
    this.calls = new Float64Array(room)
    this.ticks = new Float64Array(room)
    this.warmCalls = new Float64Array(room)
    this.warmTicks = new Float64Array(room)
    this.handed = new Float64Array(room)
    this.warmHanded = new Float64Array(room)
    this.shift = new Float64Array(room)
    this.warmShift = new Float64Array(room)
    this.#table = new Int32Array(2 ** Math.ceil(Math.log2(room * 1.5 + 2)))
  }

  add(parent: number, method: number): number {
    if (this.count === this.method.length) this.#grow()
    this.method[this.count] = method
    this.parent[this.count] = parent
    return this.count++
  }

  /** The child of `parent` for a method, made if there is none. */
  child(parent: number, method: number): number {
    if (this.count * 1.5 > this.#table.length) this.#growTable()
    const table = this.#table
    const mask = table.length - 1
    let at = hash(parent, method) & mask
    for (; table[at] !== 0; at = (at + 1) & mask) {
      const node = table[at] - 1
      if (this.parent[node] === parent && this.method[node] === method) return node
    }
    const node = this.add(parent, method)
    table[at] = node + 1
    return node
  }

  #growTable(): void {
    const table = new Int32Array(this.#table.length * 2)
    const mask = table.length - 1
    for (let node = 0; node < this.count; node++) {
      if (this.parent[node] < 0) continue
      let at = hash(this.parent[node], this.method[node]) & mask
      while (table[at] !== 0) at = (at + 1) & mask
      table[at] = node + 1
    }
    this.#table = table
  }

  #grow(): void {
    const size = Math.ceil(this.count * 1.5) + 16
    const ints = (old: Int32Array) => {
      const array = new Int32Array(size)
      array.set(old)
      return array
    }
    const floats = (old: Float64Array) => {
      const array = new Float64Array(size)
      array.set(old)
      return array
    }
    this.method = ints(this.method)
    this.parent = ints(this.parent)
    this.calls = floats(this.calls)
    this.ticks = floats(this.ticks)
    this.warmCalls = floats(this.warmCalls)
    this.warmTicks = floats(this.warmTicks)
    this.handed = floats(this.handed)
    this.warmHanded = floats(this.warmHanded)
    this.shift = floats(this.shift)
    this.warmShift = floats(this.warmShift)
    if (this.alive !== null)
      this.alive = [floats(this.alive[0]), floats(this.alive[1]), floats(this.alive[2])]
  }
}

function hash(parent: number, method: number): number {
  const mixed = Math.imul(parent + 1, 0x9e3779b1) ^ Math.imul(method, 0x85ebca6b)
  return mixed ^ (mixed >>> 15)
}
