// Times in which rows of waiting are told apart: what they sum up to is in columns of its own.

import type { Sink } from '../../cct/snapshot.ts'
import type { Tree } from '../../cct/tree.ts'
import { BLOCKED_OTHER } from '../../events/wait-ids.ts'
import { locks as metric } from './columns.ts'

export const locks: Sink = {
  metric,
  columns: (tree, { firstMethod }) => withWaits(tree, firstMethod),
}

/**
 * The tree with columns more:
 *
 * `blockedNs`, `waitedNs` what the rows of waiting right below sum up to: where this context itself was blocked or waited;
 * `totalBlockedNs`, `totalWaitedNs` the same of its subtree. All are 0 in rows of waiting, whose time is their `selfNs`.
 *
 * @param firstMethod  ids below are those of waiting: the tree's costs are the times of those rows, so that children make the parent
 */
export function withWaits(tree: Tree, firstMethod: number): Tree {
  const { count, method, parent } = tree
  const { selfNs } = tree.metrics
  const column = () => new Float64Array(count)
  const [blockedNs, waitedNs, totalBlockedNs, totalWaitedNs] = [column(), column(), column(), column()]
  const [selfWaitNs, totalWaitNs] = [column(), column()]
  // In preorder, children follow their parents: a subtree is summed before it is added.
  for (let node = count - 1; node >= 0; node--) {
    const above = parent[node]
    if (method[node] > 0 && method[node] < firstMethod) {
      const ns = selfNs[node]
      selfWaitNs[node] = ns
      totalWaitNs[node] += ns
      if (above >= 0) {
        const into = method[node] < BLOCKED_OTHER ? waitedNs : blockedNs
        into[above] += ns
      }
    } else {
      totalBlockedNs[node] += blockedNs[node]
      totalWaitedNs[node] += waitedNs[node]
    }
    if (above < 0) continue
    totalWaitNs[above] += totalWaitNs[node]
    totalBlockedNs[above] += totalBlockedNs[node]
    totalWaitedNs[above] += totalWaitedNs[node]
  }
  const metrics = { ...tree.metrics, blockedNs, waitedNs, totalBlockedNs, totalWaitedNs }
  const { self, total } = metric
  return { ...tree, metrics: { ...metrics, [self]: selfWaitNs, [total]: totalWaitNs } }
}
