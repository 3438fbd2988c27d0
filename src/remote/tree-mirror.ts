// The reading end of `tree-writer.ts`: applies the updates, and builds a tree on demand.

import type { Tree } from '../cct/tree.ts'
import { Malformed } from '../wire/unpack.ts'
import { MAX_COLUMNS, type TreeUpdate } from './tree-writer.ts'
import { VarintReader } from './varints.ts'

/** Limit against a proxy that would fill the memory: each context takes about a hundred bytes. */
const MAX_NODES = 2 ** 24
export const MAX_METHOD = 2 ** 28

interface Summed {
  readonly total: string
  /** Index of the column that is summed over a subtree. */
  readonly self: number
}

export class TreeMirror {
  #names: readonly string[] = []
  #summed: readonly Summed[] = []
  #parent: number[] = []
  #method: number[] = []
  #isGone: boolean[] = []
  /** Values, grouped by column. */
  #values: number[][] = []

  /**
   * Applies an update.
   * @throws Malformed; the mirror must then be discarded
   */
  apply({ columns, bytes }: Pick<TreeUpdate, 'columns' | 'bytes'>): void {
    if (columns !== null) this.#begin(columns)
    const reader = new VarintReader(bytes)
    this.#each(reader, (number) => {
      this.#isGone[number] = true
    })
    const added = this.#length(reader)
    if (added + this.#parent.length > MAX_NODES) throw new Malformed('a tree of too many contexts')
    for (let i = 0; i < added; i++) this.#add(reader)
    this.#each(reader, (number) => this.#change(reader, number))
    reader.unsigned() // the number of pending nodes, which the caller already has from `TreeUpdate`
    if (!reader.isAtEnd) throw new Malformed('an update with something behind it')
  }

  #begin(columns: readonly string[]): void {
    const names = columns.filter((it) => !it.includes('='))
    if (names.length > MAX_COLUMNS) throw new Malformed(`a tree of ${names.length} columns`)
    this.#names = names
    this.#summed = columns
      .filter((it) => it.includes('='))
      .map((it) => {
        const [total, self] = it.split('=') as [string, string]
        if (!names.includes(self)) throw new Malformed(`a sum of ${self}`)
        return { total, self: names.indexOf(self) }
      })
    this.#parent = []
    this.#method = []
    this.#isGone = []
    this.#values = names.map(() => [])
  }

  #length(reader: VarintReader): number {
    const length = reader.unsigned()
    // Each list element takes at least one byte.
    if (length > reader.left) throw new Malformed('a length beyond the update')
    return length
  }

  #each(reader: VarintReader, take: (number: number) => void): void {
    const length = this.#length(reader)
    const known = this.#parent.length
    let number = -1
    for (let i = 0; i < length; i++) {
      number += reader.unsigned()
      if (number < 0 || number >= known) throw new Malformed(`a context ${number} of ${known}`)
      take(number)
    }
  }

  #add(reader: VarintReader): void {
    const parent = reader.unsigned() - 1
    const method = reader.unsigned()
    if (parent >= this.#parent.length) throw new Malformed('a context before its parent')
    if (method >= MAX_METHOD) throw new Malformed(`a method ${method}`)
    const number = this.#parent.length
    this.#parent.push(parent)
    this.#method.push(method)
    this.#isGone.push(false)
    for (const values of this.#values) values.push(0)
    this.#change(reader, number)
  }

  #change(reader: VarintReader, number: number): void {
    const mask = reader.unsigned()
    if (mask >= 2 ** this.#names.length) throw new Malformed('a value of no column')
    for (let c = 0; c < this.#names.length; c++)
      if ((mask & (1 << c)) !== 0) this.#values[c]![number]! += reader.signed()
  }

  /** Builds the tree from the updates so far. Children are in the order of their arrival. */
  tree(): Tree {
    const known = this.#parent.length
    const { first, next, top, count } = this.#links()
    const place = new Int32Array(known).fill(-1)
    const method = new Int32Array(count)
    const parent = new Int32Array(count)
    const size = new Int32Array(count).fill(1)
    const numbers = new Int32Array(count)
    let at = 0
    const left: number[] = [top]
    while (left.length > 0) {
      const number = left.pop()!
      if (number < 0) continue
      place[number] = at
      numbers[at] = number
      method[at] = this.#method[number]!
      parent[at] = this.#parent[number]! < 0 ? -1 : place[this.#parent[number]!]!
      at++
      left.push(next[number]!, first[number]!)
    }
    const metrics: { [name: string]: Float64Array } = {}
    for (const [c, name] of this.#names.entries()) {
      const values = this.#values[c]!
      metrics[name] = Float64Array.from(numbers, (number) => values[number]!)
    }
    for (const { total, self } of this.#summed) metrics[total] = metrics[this.#names[self]!]!.slice()
    const totals = this.#summed.map((it) => metrics[it.total]!)
    for (let i = count - 1; i >= 0; i--) {
      const above = parent[i]!
      if (above < 0) continue
      size[above]! += size[i]!
      for (const sums of totals) sums[above]! += sums[i]!
    }
    return { count, method, parent, size, metrics }
  }

  /** Builds the lists of children, oldest first. Descendants of a removed node are skipped, too. */
  #links(): { first: Int32Array; next: Int32Array; top: number; count: number } {
    const known = this.#parent.length
    const first = new Int32Array(known).fill(-1)
    const next = new Int32Array(known).fill(-1)
    const isIn = new Uint8Array(known)
    let top = -1
    let count = 0
    for (let number = 0; number < known; number++) {
      const above = this.#parent[number]!
      if (this.#isGone[number] || (above >= 0 && isIn[above] === 0)) continue
      isIn[number] = 1
      count++
    }
    for (let number = known - 1; number >= 0; number--) {
      if (isIn[number] === 0) continue
      const above = this.#parent[number]!
      if (above < 0) {
        next[number] = top
        top = number
      } else {
        next[number] = first[above]!
        first[above] = number
      }
    }
    return { first, next, top, count }
  }
}
