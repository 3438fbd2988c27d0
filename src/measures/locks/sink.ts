// Sink of mode `locks`: times. Waits have separate rows, and separate columns contain their sums.

import type { Sink } from '../../cct/snapshot.ts'
import type { Tree } from '../../cct/tree.ts'
import { BLOCKED_OTHER, FIRST_METHOD_BESIDE_WAITS } from '../../events/wait-ids.ts'
import { locks as metric } from './columns.ts'

export const locks: Sink = {
  metric,
  columns: (tree, { firstMethod }) => withWaits(tree, firstMethod),
}

/**
 * Adds columns to a tree.
 * `blockedNs`, `waitedNs`: time for which this node itself was blocked or waiting, which is the sum of its child rows that are waits.
 * `totalBlockedNs`, `totalWaitedNs`: sums of these columns over the subtree. In wait rows, all four columns are 0.
 * `selfWaitNs`, `totalWaitNs`: self and total cost. Only wait rows have self cost, so the cost of a parent is the sum of its children.
 * @param firstMethod  lowest method id; lower ids are ids of waits
 */
export function withWaits(tree: Tree, firstMethod = FIRST_METHOD_BESIDE_WAITS): Tree {
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
