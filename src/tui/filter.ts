// Hides rows with less than a given percentage of the cost of their root. The numbers of the visible rows do not change.

import { costsOf } from '../cct/metric.ts'
import type { Tree } from '../cct/tree.ts'

/** Limits in percent. Each press of the key % selects the next limit. */
const STEPS = [0, 0.1, 1, 5]

export class Filter {
  /** Limit in percent; 0 hides no rows. */
  least = 0
  /** Text of the number that the user is typing; undefined while no number can be typed. */
  #typed: string | undefined

  /** Text of the number that the user is typing, for display. */
  get typed(): string | undefined {
    return this.#typed
  }

  /** Selects the next limit, and lets the user type a number instead. */
  next(): void {
    this.least = STEPS.find((step) => step > this.least) ?? 0
    this.#typed = ''
  }

  /**
   * Handles a key during number input. A key that is not part of a number ends the input.
   *
   * @returns whether the key is consumed, or an error message
   */
  type(key: string): boolean | string {
    if (this.#typed === undefined) return false
    const typed = this.#typed
    if (/^[0-9.]$/.test(key)) return this.#set(typed + key)
    if (key === 'backspace') return this.#set([...typed].slice(0, -1).join(''))
    this.#typed = undefined
    return key === 'enter' || key === 'escape'
  }

  #set(text: string): boolean | string {
    const number = text === '' || text === '.' ? 0 : Number(text)
    if (!(number >= 0 && number <= 100) || text.length > 6) return `"${text}" is not a number from 0 to 100`
    this.#typed = text
    this.least = number
    return true
  }
}

export interface Filtered {
  readonly tree: Tree
  /** Number of hidden contexts. */
  readonly hidden: number
}

/**
 * Returns the contexts that cost at least `least` percent, and all their callers.
 *
 * @param least  minimum cost in percent
 * @param whole  returns the cost that is 100 % for a top node
 */
export function withoutSmall(tree: Tree, least: number, whole: (top: number) => number): Filtered {
  if (least <= 0) return { tree, hidden: 0 }
  const { count, method, parent } = tree
  const { total } = costsOf(tree)
  const isKept = new Uint8Array(count)
  let enough = 0
  for (let node = 0; node < count; node++) {
    if (parent[node]! < 0) enough = (whole(node) * least) / 100
    if (!(total[node]! < enough)) isKept[node] = 1
  }
  // Keeps all callers of a kept node, since in a tree of changes a caller may cost less than its callees. Callees are visited first.
  for (let node = count - 1; node >= 0; node--)
    if (isKept[node] === 1 && parent[node]! >= 0) isKept[parent[node]!] = 1
  const kept: number[] = []
  const place = new Int32Array(count)
  for (let node = 0; node < count; node++) {
    if (isKept[node] === 0) continue
    place[node] = kept.length
    kept.push(node)
  }
  const parents = Int32Array.from(kept, (node) => (parent[node]! < 0 ? -1 : place[parent[node]!]!))
  const sizes = new Int32Array(kept.length).fill(1)
  for (let at = kept.length - 1; at >= 0; at--) if (parents[at]! >= 0) sizes[parents[at]!]! += sizes[at]!
  const metrics: { [name: string]: Float64Array } = {}
  for (const [name, column] of Object.entries(tree.metrics))
    metrics[name] = Float64Array.from(kept, (node) => column[node]!)
  const shown = {
    ...tree,
    count: kept.length,
    method: Int32Array.from(kept, (node) => method[node]!),
    parent: parents,
    size: sizes,
    metrics,
  }
  return { tree: shown, hidden: count - kept.length }
}
