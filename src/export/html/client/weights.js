// Widths of the frames of the flame graph.

/** @import { Tree } from './data.js' */

/**
 * Returns the width of each node. With `larger`, a node's own part is the larger of the earlier and the later cost, so that new and removed
 * contexts are visible. The own part is the cost outside of displayed children: self cost and omitted children, or for allocations only
 * omitted children, since a method's own bytes are in its class rows. A node's width is its own part plus the widths of its children.
 *
 * @param {Pick<Tree, 'count' | 'parent' | 'columns'>} tree
 * @param {string} how  larger, before or now
 */
export function weightsOf(tree, how) {
  const { total, total0 } = tree.columns
  if (total0 === undefined || how === 'now') return total
  if (how === 'before') return total0
  const { count, parent } = tree
  const [rest, rest0] = [total.slice(), total0.slice()]
  const weight = new Float64Array(count)
  for (let node = count - 1; node >= 0; node--) {
    weight[node] += Math.max(0, rest[node], rest0[node])
    const above = parent[node]
    if (above < 0) continue
    rest[above] -= total[node]
    rest0[above] -= total0[node]
    weight[above] += weight[node]
  }
  return weight
}
