// Sink of mode `alloc`. The target reports an allocation as a call of the allocated class, with bytes as ticks. The sink converts these
// calls to objects. In the row of a method, `objects` and `bytes` contain the method's own allocations, and `totalObjects` and `totalBytes`
// include its subtree. In a class row, both pairs are equal, and `calls` is the number of objects. A method's self cost is the sum of its
// class rows, not an additional cost. The row NOT_ATTRIBUTED below a root has bytes, and neither objects nor calls.

import { isClassId } from '../../cct/allocation.ts'
import type { CostTree, Sink } from '../../cct/snapshot.ts'
import type { Tree } from '../../cct/tree.ts'
import { NOT_ATTRIBUTED } from '../../events/event-layout.ts'
import { allocation as metric } from './columns.ts'

export const allocation: Sink = {
  metric,
  columns: (tree, { every }) => allocationTree(tree, every),
}

/**
 * Computes the columns of allocations. In the given tree, an allocation is a call of the allocated class, and its ticks are bytes.
 * @param every  one in `every` allocations was recorded; objects and bytes are multiplied by `every`
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
    if (method[node] === NOT_ATTRIBUTED) {
      bytes[node] = totalBytes[node] = self[node]!
    } else if (isClassId(method[node]!)) {
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

/** Computes `liveObjects`, `liveBytes` and `age` of methods from their class rows: the sums, and the average age. */
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
