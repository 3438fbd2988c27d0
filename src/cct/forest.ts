// Intermediate trees between a builder's records and snapshots: nodes in any order with parents before children, and columns of sums.

import { ALIVE_NODES } from './nodes.ts'

export interface Forest {
  readonly count: number
  readonly method: Int32Array
  /** Parent of each node; -1 for tops. */
  readonly parent: Int32Array
  readonly columns: Columns
}

/** Columns indexed by node. A column may have fewer entries than there are nodes; the missing values are 0. */
export interface Columns {
  readonly calls: Float64Array
  readonly ticks: Float64Array
  readonly warmCalls: Float64Array
  readonly warmTicks: Float64Array
  /** Number of calls, included in `calls`, that were submitted work in another thread than the parent's thread. */
  readonly handed?: Float64Array
  readonly warmHanded?: Float64Array
  /** Part of a collapsed row's calls that were not made by the row's caller itself. */
  readonly shift?: Float64Array
  readonly warmShift?: Float64Array
  /** With --liveness, for live objects allocated in this context: their number, bytes and sum of ages. */
  readonly liveObjects?: Float64Array
  readonly liveBytes?: Float64Array
  readonly age?: Float64Array
}

/** Nodes of a forest under construction. */
export class Growing {
  count = 0
  method: Int32Array
  parent: Int32Array
  /** Maps (parent, method) to node + 1: open addressing, 0 is empty. */
  #table: Int32Array

  constructor(room: number) {
    this.method = new Int32Array(room)
    this.parent = new Int32Array(room)
    this.#table = new Int32Array(2 ** Math.ceil(Math.log2(room * 1.5 + 2)))
  }

  add(parent: number, method: number): number {
    if (this.count === this.method.length) {
      const room = Math.ceil(this.count * 1.5) + 16
      this.method = withRoom(this.method, room)
      this.parent = withRoom(this.parent, room)
    }
    this.method[this.count] = method
    this.parent[this.count] = parent
    return this.count++
  }

  /** Returns the child of `parent` for a method. Creates the child if it is missing. */
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
      let at = hash(this.parent[node], this.method[node]) & mask
      while (table[at] !== 0) at = (at + 1) & mask
      table[at] = node + 1
    }
    this.#table = table
  }

  /**
   * Returns the forest of these nodes. The sums of merged nodes are added.
   * @param into   new node of each old node, or -1
   * @param alive  called every few milliseconds
   */
  withSums(columns: Columns, into: Int32Array, alive: () => void): Forest {
    const { count, method, parent } = this
    const sums = Object.entries<Float64Array>({ ...columns }).map(([name, column]) => {
      const sum = new Float64Array(count)
      for (let from = 0; from < column.length; from++) {
        if ((from & ALIVE_NODES) === ALIVE_NODES) alive()
        if (into[from] >= 0) sum[into[from]] += column[from]
      }
      return [name, sum]
    })
    return { count, method, parent, columns: Object.fromEntries(sums) as Columns }
  }
}

function withRoom(old: Int32Array, room: number): Int32Array {
  const array = new Int32Array(room)
  array.set(old)
  return array
}

function hash(parent: number, method: number): number {
  const mixed = Math.imul(parent + 1, 0x9e3779b1) ^ Math.imul(method, 0x85ebca6b)
  return mixed ^ (mixed >>> 15)
}

/** Merges equal contexts of different threads; their roots become the tops. */
export function withoutTops({ count, method, parent, columns }: Forest, alive: () => void): Forest {
  const into = new Int32Array(count).fill(-1)
  const out = new Growing(count)
  for (let from = 0; from < count; from++) {
    if ((from & ALIVE_NODES) === ALIVE_NODES) alive()
    if (parent[from] >= 0) into[from] = out.child(into[parent[from]], method[from])
  }
  return out.withSums(columns, into, alive)
}
