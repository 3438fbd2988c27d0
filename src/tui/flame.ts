// Layout of a flame graph: one line per depth, one box per context, with a width proportional to its total cost.
// This module computes the boxes; views/flame-view.ts draws them. Pure functions of the tree and the screen width.
//
// Below a box are the boxes of its callees, the widest first. The remaining width is the self cost of the box. Callees narrower than a cell
// are merged into one last box without children, so a line has at most one box per cell.
// Lines are laid out lazily, since a tree can be 100,000 levels deep.

import { append } from '../base/arrays.ts'
import { costsOf } from '../cct/metric.ts'
import type { Tree } from '../cct/tree.ts'

export interface Box {
  /** Node of the context. For a merged box, node of its widest context. */
  readonly node: number
  /** Range of cells in the line: [from, to). */
  readonly from: number
  readonly to: number
  /** Number of contexts: 1, or the number of merged narrow callees of one caller. */
  readonly contexts: number
  /** Exact position and width, in fractional cells. */
  readonly at: number
  readonly wide: number
}

export class Flame {
  readonly #total: Float64Array
  readonly #levels: Box[][] = []
  #isDone = false

  /** @param zoom  context that fills the first line; -1 for all roots */
  constructor(
    readonly tree: Tree,
    readonly zoom: number,
    readonly columns: number,
  ) {
    this.#total = costsOf(tree).total
  }

  /** Returns the boxes of a line, from left to right; an empty list below the deepest level. */
  level(depth: number): readonly Box[] {
    while (!this.#isDone && this.#levels.length <= depth) {
      const next = this.#next()
      if (next.length > 0) this.#levels.push(next)
      else this.#isDone = true
    }
    return this.#levels[depth] ?? []
  }

  /** Returns the number of lines of the flame graph, but at most `most`. */
  depth(most: number): number {
    this.level(most - 1)
    return Math.min(most, this.#levels.length)
  }

  /** Returns the box of a context, or else of its nearest caller with a box; undefined if no box is found below the zoomed context. */
  find(node: number): { readonly level: number; readonly index: number } | undefined {
    const { parent } = this.tree
    const way: number[] = []
    for (let at = node; at >= 0; at = parent[at]!) {
      way.push(at)
      if (at === this.zoom) break
    }
    if (this.zoom >= 0 && way[way.length - 1] !== this.zoom) return undefined
    for (let level = way.length - 1; level >= 0; level--) {
      const index = this.level(level).findIndex(
        (box) => box.node === way[way.length - 1 - level] && box.contexts === 1,
      )
      if (index >= 0) return { level, index }
    }
    return undefined
  }

  /** Returns the boxes of the callees of a box, from left to right. */
  below(level: number, box: Box): readonly Box[] {
    const end = box.node + this.tree.size[box.node]!
    return box.contexts > 1 ? [] : this.level(level + 1).filter(({ node }) => node > box.node && node < end)
  }

  #next(): Box[] {
    const { tree, zoom, columns } = this
    const above = this.#levels[this.#levels.length - 1]
    if (above === undefined) {
      if (zoom < 0) return this.#children(-1, 0, columns)
      return [{ node: zoom, from: 0, to: columns, contexts: 1, at: 0, wide: columns }]
    }
    const boxes: Box[] = []
    for (const { node, contexts, at, wide } of above) {
      if (contexts === 1 && tree.size[node]! > 1) append(boxes, this.#children(node, at, wide))
    }
    return boxes
  }

  /** Returns the boxes of the callees of a node. If the node's self cost is negative, the boxes are scaled to the width of the node. */
  #children(node: number, at: number, wide: number): Box[] {
    const { size, count } = this.tree
    const end = node < 0 ? count : node + size[node]!
    let sum = 0
    for (let child = node + 1; child < end; child += size[child]!) sum += this.#cost(child)
    const whole = Math.max(sum, node < 0 ? 0 : this.#cost(node))
    if (!(whole > 0)) return []
    const shown: number[] = []
    let narrow = 0
    let narrowCost = 0
    let widest = -1
    for (let child = node + 1; child < end; child += size[child]!) {
      const cost = this.#cost(child)
      if ((cost / whole) * wide >= 1) shown.push(child)
      else if (cost > 0) {
        narrow++
        narrowCost += cost
        if (widest < 0 || cost > this.#cost(widest)) widest = child
      }
    }
    shown.sort((a, b) => this.#cost(b) - this.#cost(a) || a - b)
    const boxes: Box[] = []
    let place = at
    const add = (first: number, contexts: number, cost: number): void => {
      const cells = (cost / whole) * wide
      const [from, to] = [Math.round(place), Math.round(place + cells)]
      if (to > from) boxes.push({ node: first, from, to, contexts, at: place, wide: cells })
      place += cells
    }
    for (const child of shown) add(child, 1, this.#cost(child))
    if (narrow > 0) add(widest, narrow, narrowCost)
    return boxes
  }

  #cost(node: number): number {
    return Math.max(0, this.#total[node]!)
  }
}
