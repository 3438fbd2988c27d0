// Shrinks a tree of samples: contexts with few samples are merged into their callers (Whaley's purge).

import { HANDED_OVER, handedOverFrom, NODE } from './nodes.ts'

// Local constants for speed, as in thread-stack.ts.
const { INTS, FLOATS, METHOD, PARENT, CALLS, TICKS } = NODE

export interface CollapsedSamples {
  /** Records of the remaining nodes, with the same capacity as before. Sibling links are reset. */
  readonly bytes: ArrayBuffer
  readonly count: number
  /** New index of each old node. A removed node has the new index of the nearest remaining caller. */
  readonly moved: Int32Array
}

/**
 * Keeps about half of the nodes: the nodes with the most samples in their subtrees, and the current nodes of threads. Samples of removed
 * nodes are added to their callers. Each node has a higher index than its parent, before and after the change.
 * @param count   number of nodes, including the unused node 0
 * @param places  current nodes of threads
 */
export function collapseSamples(
  ints: Int32Array,
  floats: Float64Array,
  count: number,
  places: Iterable<number>,
): CollapsedSamples {
  const totals = new Float64Array(count)
  for (let node = count - 1; node > 0; node--) {
    totals[node] += floats[node * FLOATS + TICKS]
    const parent = ints[node * INTS + PARENT]
    if (parent >= 0) totals[parent] += totals[node]
  }
  const stays = new Uint8Array(count)
  const least = totals.slice(1).sort()[count >> 1] ?? 0
  for (let node = 1; node < count; node++) {
    // Nodes with exactly the median number of samples are removed. Otherwise no node would be removed if all numbers were equal.
    if (totals[node] > least || ints[node * INTS + PARENT] < 0) stays[node] = 1
  }
  for (const place of places) {
    for (let node = place; node > 0 && stays[node] === 0; node = ints[node * INTS + PARENT]) stays[node] = 1
  }
  const bytes = new ArrayBuffer(ints.byteLength)
  const [newInts, newFloats] = [new Int32Array(bytes), new Float64Array(bytes)]
  newInts[METHOD] = newInts[PARENT] = -1
  const moved = new Int32Array(count)
  let next = 1
  for (let node = 1; node < count; node++) {
    const parent = ints[node * INTS + PARENT]
    if (stays[node] === 0) {
      moved[node] = moved[parent]
      newFloats[moved[node] * FLOATS + TICKS] += floats[node * FLOATS + TICKS]
      continue
    }
    moved[node] = next
    const method = ints[node * INTS + METHOD]
    // Trees of samples contain no submitted work, but the target's data may be corrupt. A node must refer to an earlier node; otherwise a
    // path could be cyclic.
    const from = parent < 0 ? -1 : handedOverFrom(method)
    newInts[next * INTS + METHOD] = from < 0 ? method : HANDED_OVER - moved[from]
    newInts[next * INTS + PARENT] = parent < 0 ? -1 : moved[parent]
    newFloats[next * FLOATS + CALLS] = floats[node * FLOATS + CALLS]
    newFloats[next * FLOATS + TICKS] += floats[node * FLOATS + TICKS]
    next++
  }
  return { bytes, count: next, moved }
}
