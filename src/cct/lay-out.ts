// Converts nodes in any order with parents before children into a tree in preorder.

import { ALIVE_NODES } from './nodes.ts'
import type { Tree } from './tree.ts'

/**
 * Returns the nodes in preorder. Siblings keep their order.
 * @param parent   parent of each node, or -1; a parent has a lower index than its children
 * @param columns  one value per node, keyed by name
 * @param alive    called at intervals
 */
export function inPreorder(
  method: ArrayLike<number>,
  parent: ArrayLike<number>,
  columns: { readonly [name: string]: ArrayLike<number> },
  alive: () => void = () => {},
): Tree {
  const count = method.length
  const sizes = new Int32Array(count).fill(1)
  for (let node = count - 1; node >= 0; node--) {
    if ((node & ALIVE_NODES) === ALIVE_NODES) alive()
    const above = parent[node]!
    if (above >= 0) sizes[above]! += sizes[node]!
  }
  const place = new Int32Array(count)
  /** Position of each node's next child. */
  const next = new Int32Array(count)
  let top = 0
  for (let node = 0; node < count; node++) {
    if ((node & ALIVE_NODES) === ALIVE_NODES) alive()
    const above = parent[node]!
    const at = above < 0 ? top : next[above]!
    if (above < 0) top += sizes[node]!
    else next[above]! += sizes[node]!
    place[node] = at
    next[node] = at + 1
  }
  const tree = {
    count,
    method: new Int32Array(count),
    parent: new Int32Array(count),
    size: new Int32Array(count),
  }
  alive()
  for (let node = 0; node < count; node++) {
    if ((node & ALIVE_NODES) === ALIVE_NODES) alive()
    const at = place[node]!
    const above = parent[node]!
    tree.method[at] = method[node]!
    tree.parent[at] = above < 0 ? -1 : place[above]!
    tree.size[at] = sizes[node]!
  }
  const metrics: { [name: string]: Float64Array } = {}
  for (const [name, values] of Object.entries(columns)) {
    alive()
    const column = new Float64Array(count)
    for (let node = 0; node < count; node++) {
      if ((node & ALIVE_NODES) === ALIVE_NODES) alive()
      column[place[node]!] = values[node]!
    }
    metrics[name] = column
  }
  return { ...tree, metrics }
}
