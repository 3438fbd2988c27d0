// Where each thread stands: its node, up to when it has been charged, and the top of its tree.

import { enlarged } from '../base/enlarged.ts'
import { type Nodes, VIRTUAL_TOP } from './nodes.ts'

/** No word has said from where the next call comes. */
export const UNTOLD = -1

/** All by thread number. What the thread has whose events come is the builder's. */
export class Places {
  /** 0: no event has come of the thread. */
  tops = new Int32Array(64)
  nodes = new Int32Array(64)
  lasts = new Float64Array(64)
  sites = new Int32Array(64).fill(UNTOLD)
  suspended = new Uint8Array(64)
  /** Numbers of threads seen, in the order they came. */
  readonly threads: number[] = []
  /** 0 until a virtual thread comes. */
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

  /** Makes sure that a thread has a place. */
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

  /** A thread's events go to the virtual threads' tree. To be called before its first event. */
  markVirtual(number: number): void {
    if (number >= this.#virtual.length) this.#grow(number)
    this.#virtual[number] = 1
  }

  /** Numbers of the threads that have a tree of their own. */
  platformThreads(): number[] {
    return this.threads.filter((number) => this.tops[number] !== this.virtualTop)
  }

  /** Threads that are inside, and whose clock runs: where they are, and since when that has not been charged. */
  forEachOpen(visit: (node: number, last: number) => void): void {
    for (const number of this.threads) {
      const node = this.nodes[number]
      if (node !== this.tops[number] && this.suspended[number] === 0) visit(node, this.lasts[number])
    }
  }

  /** @param row  number of a thread, or 0 for all virtual ones: how many of them are in a tree */
  inside(row: number): number {
    let inside = 0
    for (const number of row === 0 ? this.threads : [row]) {
      const top = this.tops[number]
      if ((row !== 0 || top === this.virtualTop) && this.nodes[number] !== top) inside++
    }
    return inside
  }

  /** Nodes have other indices now. */
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
