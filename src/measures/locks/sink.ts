// Sink of mode `locks`: times with separate rows for waiting, which are summed in separate columns.

import type { Sink } from '../../cct/snapshot.ts'
import type { Tree } from '../../cct/tree.ts'
import { BLOCKED_OTHER } from '../../events/wait-ids.ts'
import { locks as metric } from './columns.ts'

export const locks: Sink = {
  metric,
  columns: (tree, { firstMethod }) => withWaits(tree, firstMethod),
}

/**
 * Adds columns to a tree.
 * `blockedNs`, `waitedNs`: sums of the rows of waiting directly below, which is the time that this context itself was blocked or waiting.
 * `totalBlockedNs`, `totalWaitedNs`: the sums over its subtree. All are 0 in rows of waiting; their time is in `selfNs`.
 * @param firstMethod  ids below it stand for waiting. The tree's costs are the times of these rows, so that children sum to the parent
 */
export function withWaits(tree: Tree, firstMethod: number): Tree {
  const { count, method, parent } = tree
  const { selfNs } = tree.metrics
  const column = () => new Float64Array(count)
  const [blockedNs, waitedNs, totalBlockedNs, totalWaitedNs] = [column(), column(), column(), column()]
  const [selfWaitNs, totalWaitNs] = [column(), column()]
  // In preorder, children follow their parents, so a backward loop completes a subtree before it is added to the parent.
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
