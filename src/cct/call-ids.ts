// Ids of pairs of method and call site. With call sites, a node of a tree stands for a method called from one call site. Each pair has an
// id: 1, 2, 3 … in the order of first occurrence. All other code treats this id as a method id.

import { checkMethod } from './impossible.ts'

/** Maps pair ids to methods and call sites. Index 0 is unused. */
export interface CallTable {
  readonly method: Int32Array
  /** Number of the call site (instrument/sites.ts); 0 if none: a root, or a call by the JVM itself. */
  readonly site: Int32Array
}

export class CallIds {
  /** Method of each pair, indexed by the id of the pair. Replaced on growth. */
  methods: Int32Array<ArrayBuffer>
  sites: Int32Array<ArrayBuffer>
  count: number
  /** Maps (method, site) to id: open addressing, 0 is empty. */
  #table = new Int32Array(4096)

  /**
   * @param firstPlaced lower ids stand for waiting (events/wait-ids.ts) or classes (allocation.ts). They have no call site and stay
   * unchanged
   */
  constructor(firstPlaced: number) {
    this.methods = new Int32Array(Math.max(1024, 2 * firstPlaced))
    this.sites = new Int32Array(this.methods.length)
    for (let id = 0; id < firstPlaced; id++) this.methods[id] = id
    this.count = firstPlaced
  }

  of(method: number, site: number): number {
    const table = this.#table
    const mask = table.length - 1
    for (let at = hash(method, site) & mask; ; at = (at + 1) & mask) {
      const id = table[at]
      if (id === 0) return this.#add(at, method, site)
      if (this.methods[id] === method && this.sites[id] === site) return id
    }
  }

  get table(): CallTable {
    return { method: this.methods.slice(0, this.count), site: this.sites.slice(0, this.count) }
  }

  #add(at: number, method: number, site: number): number {
    checkMethod(method, site)
    const id = this.count++
    if (id === this.methods.length) {
      this.methods = doubled(this.methods)
      this.sites = doubled(this.sites)
    }
    this.methods[id] = method
    this.sites[id] = site
    this.#table[at] = id
    if (this.count * 2 > this.#table.length) this.#growTable()
    return id
  }

  #growTable(): void {
    const table = new Int32Array(this.#table.length * 2)
    const mask = table.length - 1
    for (const old of this.#table) {
      if (old === 0) continue
      let at = hash(this.methods[old], this.sites[old]) & mask
      while (table[at] !== 0) at = (at + 1) & mask
      table[at] = old
    }
    this.#table = table
  }
}

/** Maps each id to the lowest id with the same method. This lowest id represents the method. */
export function leastOfMethod({ method }: CallTable): Int32Array {
  const least = new Map<number, number>()
  return method.map((of, id) => {
    const known = least.get(of)
    if (known === undefined) least.set(of, id)
    return known ?? id
  })
}

function hash(method: number, site: number): number {
  const mixed = Math.imul(method, 0x9e3779b1) ^ Math.imul(site, 0x85ebca6b)
  return mixed ^ (mixed >>> 15)
}

function doubled(old: Int32Array): Int32Array<ArrayBuffer> {
  const array = new Int32Array(old.length * 2)
  array.set(old)
  return array
}
