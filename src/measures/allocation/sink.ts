// The target tells an allocation as a call of its class, whose ticks are bytes. Here the calls become objects: a method has the columns
// `objects`, `bytes` of its own sites and `totalObjects`, `totalBytes` of its subtree; the row of a class has the same numbers in
// both, and its objects as `calls`. So a method's own cost is that of its class rows, not beside it.

import { isClassId } from '../../cct/allocation.ts'
import type { CostTree, Sink } from '../../cct/snapshot.ts'
import type { Tree } from '../../cct/tree.ts'
import { allocation as metric } from './columns.ts'

export const allocation: Sink = {
  metric,
  columns: (tree, { every }) => allocationTree(tree, every),
}

/**
 * A tree with the columns of allocations, from one whose classes are calls that "execute" bytes.
 *
 * @param every  one of so many allocations was recorded: objects and bytes are as many times more
 */
function allocationTree({ count, method, parent, size, metrics }: CostTree, every: number): Tree {
  const self = metrics.selfNs
  const calls = metrics.calls.slice()
  const objects = new Float64Array(count)
  const bytes = new Float64Array(count)
  const totalObjects = new Float64Array(count)
  const totalBytes = new Float64Array(count)
  const alive = aliveBySite(metrics)
  for (let node = count - 1; node >= 0; node--) {
    const above = parent[node]!
    if (isClassId(method[node]!)) {
      calls[node]! *= every
      objects[node] = totalObjects[node] = calls[node]!
      bytes[node] = totalBytes[node] = self[node]! * every
      if (above >= 0) {
        objects[above]! += objects[node]!
        bytes[above]! += bytes[node]!
        alive?.add(above, node)
      }
    }
    if (above < 0) continue
    totalObjects[above]! += totalObjects[node]!
    totalBytes[above]! += totalBytes[node]!
  }
  const columns = { calls, objects, bytes, totalObjects, totalBytes, ...alive?.columns(every) }
  return { count, method, parent, size, metrics: columns }
}

/** `liveObjects`, `liveBytes` and `age` of a method are those of its class rows: sums, and the average. */
function aliveBySite({ liveObjects, liveBytes, age }: Tree['metrics']) {
  if (!liveObjects || !liveBytes || !age) return undefined
  const sums = [liveObjects, liveBytes, age]
  return {
    add(to: number, from: number): void {
      for (const sum of sums) sum[to]! += sum[from]!
    },
    columns: (every: number) => ({
      liveObjects: liveObjects.map((it) => it * every),
      liveBytes: liveBytes.map((it) => it * every),
      age: age.map((it, node) => (it === 0 ? 0 : it / liveObjects[node]!)),
    }),
  }
}
