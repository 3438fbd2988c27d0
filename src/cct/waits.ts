// Time blocked and waiting, summed by context. A wait is a row of its own, a call of a pseudo method below the context that
// waits (events/wait-ids.ts); these columns say the same beside the calls and times of methods.

import { BLOCKED_OTHER } from '../events/wait-ids.ts'
import { METRICS } from '../measures/columns.ts'
import type { Tree } from './tree.ts'

export const WAIT_COLUMNS = ['blockedNs', 'waitedNs', 'totalBlockedNs', 'totalWaitedNs'] as const

/** Whether waiting is told apart. */
export function tellsWaits({ metrics }: Tree): boolean {
  return metrics[WAIT_COLUMNS[0]] !== undefined
}

/**
 * The tree with columns more:
 *
 * `blockedNs`, `waitedNs` what the rows of waiting right below sum up to: where this context itself was blocked or waited;
 * `totalBlockedNs`, `totalWaitedNs` the same of its subtree. All are 0 in rows of waiting, whose time is their `selfNs`.
 *
 * @param firstMethod  ids below are those of waiting
 * @param asMetric     the tree is one of waits: its costs are the times of those rows, so that children make the parent
 */
export function withWaits(tree: Tree, firstMethod: number, asMetric: boolean): Tree {
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
  if (!asMetric) return { ...tree, metrics }
  const { self, total } = METRICS.waits
  return { ...tree, metrics: { ...metrics, [self]: selfWaitNs, [total]: totalWaitNs } }
}
