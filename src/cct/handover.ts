// Moves submitted work below the context that submitted it.
//
// The builder puts submitted work below a pseudo node in the tree of the thread that ran it. Here the path of the submitting context
// replaces the pseudo node in the same tree. A thread's tree thus shows what the thread ran. When the trees of all threads are merged, this
// path and the path in the submitting thread's tree become one. Path nodes that the thread did not run itself have no calls and no self
// time; their total is the sum of their children's totals.
//
// The submitter's clock ran while another thread did the work, and no time is subtracted from either thread. Totals are therefore sums over
// threads; a parent still equals its self time plus its children.

import { type Forest, Growing } from './forest.ts'
import { ALIVE_NODES, handedOverFrom } from './nodes.ts'

/**
 * Returns the same forest with every pseudo node replaced by its path. Time charged to pseudo nodes is left out.
 * @param alive called every few milliseconds
 */
export function withPaths({ count, method, parent, columns }: Forest, alive: () => void): Forest {
  const { calls, shift, warmCalls, warmShift } = columns
  const handed = new Float64Array(count)
  const warmHanded = new Float64Array(warmCalls.length)
  const out = new Growing(count)
  const into = new Int32Array(count).fill(-1)
  const pseudo: number[] = []
  /** Maps a thread's top and a submitting node to the submitting node's copy below that top. All three are nodes of `out`. */
  const twins = new Map<number, number>()
  for (let from = 1; from < count; from++) {
    if ((from & ALIVE_NODES) === ALIVE_NODES) alive()
    const above = parent[from]
    const submitter = above < 0 ? -1 : handedOverFrom(method[from])
    if (above < 0) into[from] = out.add(-1, method[from])
    else if (submitter >= 0) {
      // A submitter has a lower index than its submitted work, so the submitter is already copied.
      into[from] = twin(out, into[above], into[submitter], twins)
      pseudo.push(from)
    } else {
      into[from] = out.child(into[above], method[from])
      if (handedOverFrom(method[above]) < 0) continue
      handed[from] = calls[from] - (shift?.[from] ?? 0)
      if (from < warmCalls.length) warmHanded[from] = warmCalls[from] - (warmShift?.[from] ?? 0)
    }
  }
  for (const node of pseudo) into[node] = -1
  return out.withSums({ ...columns, handed, warmHanded }, into, alive)
}

/** Returns the node below `top` with the same path as `node`. Creates missing nodes. The function is iterative: contexts may be deep. */
function twin(out: Growing, top: number, node: number, twins: Map<number, number>): number {
  const missing: number[] = []
  let at = node
  let found = top
  for (; out.parent[at] >= 0; at = out.parent[at]) {
    const known = twins.get(top * 2 ** 26 + at)
    if (known !== undefined) {
      found = known
      break
    }
    missing.push(at)
  }
  for (let i = missing.length - 1; i >= 0; i--) {
    found = out.child(found, out.method[missing[i]])
    twins.set(top * 2 ** 26 + missing[i], found)
  }
  return found
}
