// How wide the frames of the flame graph are.

/** @import { Tree } from './data.js' */

/**
 * In a comparison by the larger of both, so that what is new or gone is seen: what a context does not pass on to the contexts
 * below it is then the larger of both, and summed up again. That is its own cost and what is left out right below; of
 * allocations only the latter, as a method's own bytes are those of its rows of classes.
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
