// Position of each thread: the thread's current node, the time up to which the node has been charged, and the top of the thread's tree.

import { enlarged } from '../base/enlarged.ts'
import { type Nodes, VIRTUAL_TOP } from './nodes.ts'

/** Value of the site field while no call site has been received for the next call. */
export const UNTOLD = -1

/** Positions of all threads. All arrays are indexed by thread number. The values of the current thread are in the builder. */
export class Places {
  /** Top of each thread's tree; 0 before the thread's first event. */
  tops = new Int32Array(64)
  nodes = new Int32Array(64)
  lasts = new Float64Array(64)
  sites = new Int32Array(64).fill(UNTOLD)
  suspended = new Uint8Array(64)
  /** Numbers of known threads, in order of first occurrence. */
  readonly threads: number[] = []
  /** Top of the tree of all virtual threads; 0 until the first event of a virtual thread. */
  virtualTop = 0
  #virtual = new Uint8Array(64)
  readonly #nodes: Nodes

  constructor(nodes: Nodes) {
    this.#nodes = nodes
  }

  get bytes(): number {
    const { tops, nodes, lasts, sites, suspended } = this
    return [tops, nodes, lasts, sites, suspended, this.#virtual].reduce((sum, it) => sum + it.byteLength, 0)
  }

  /** Initializes a thread on its first event. */
  meet(number: number, virtual: boolean): void {
    if (number >= this.tops.length) this.#grow(number)
    if (this.tops[number] !== 0) return
    this.threads.push(number)
    if (virtual || this.#virtual[number] === 1) {
      if (this.virtualTop === 0) this.virtualTop = this.#nodes.newTop(VIRTUAL_TOP)
      this.tops[number] = this.virtualTop
    } else {
      this.tops[number] = this.#nodes.newTop(-number)
    }
    this.nodes[number] = this.tops[number]
  }

  /** Assigns a thread's events to the tree of virtual threads. Must be called before the thread's first event. */
  markVirtual(number: number): void {
    if (number >= this.#virtual.length) this.#grow(number)
    this.#virtual[number] = 1
  }

  /** Visits each thread inside a root with a running clock: its current node, and the time up to which the node has been charged. */
  forEachOpen(visit: (node: number, last: number) => void): void {
    for (const number of this.threads) {
      const node = this.nodes[number]
      if (node !== this.tops[number] && this.suspended[number] === 0) visit(node, this.lasts[number])
    }
  }

  /** Returns the number of threads inside a root. @param row  number of a thread, or 0 for all virtual threads */
  inside(row: number): number {
    let inside = 0
    for (const number of row === 0 ? this.threads : [row]) {
      const top = this.tops[number]
      if ((row !== 0 || top === this.virtualTop) && this.nodes[number] !== top) inside++
    }
    return inside
  }

  /** Replaces node indices by new indices. */
  move(moved: Int32Array): void {
    this.virtualTop = moved[this.virtualTop]
    for (const number of this.threads) {
      this.tops[number] = moved[this.tops[number]]
      this.nodes[number] = moved[this.nodes[number]]
    }
  }

  #grow(number: number): void {
    this.tops = enlarged(this.tops, number)
    this.nodes = enlarged(this.nodes, number)
    this.#virtual = enlarged(this.#virtual, number)
    this.suspended = enlarged(this.suspended, number)
    this.lasts = enlarged(this.lasts, number)
    const threads = this.sites.length
    this.sites = enlarged(this.sites, number)
    this.sites.fill(UNTOLD, threads)
  }
}
