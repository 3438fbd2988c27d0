// Where work that was handed over belongs: below the context that handed it over.
//
// The builder hangs it below a pseudo node in the tree of the thread that did it. Here the pseudo node
// gives way to the path of the context it names, in that same tree: so a thread's tree holds what the
// thread did, and when trees are merged the path meets that of the submitting thread. Nodes of a path
// that the thread never ran itself have no calls and no self time; their total is that of their children.
//
// A caller's clock ran while a thread of another did the work, and nothing of it was taken out of either:
// totals are sums over threads, parents are still self time and children.

import { type Forest, Growing } from './forest.ts'
import { ALIVE_NODES, handedOverFrom } from './nodes.ts'

/**
 * The same forest with every pseudo node replaced by the path it stands for. Time charged to pseudo nodes
 * is left out.
 *
 * @param alive called every few milliseconds
 */
export function withPaths({ count, method, parent, columns }: Forest, alive: () => void): Forest {
  const { calls, shift, warmCalls, warmShift } = columns
  const handed = new Float64Array(count)
  const warmHanded = new Float64Array(warmCalls.length)
  const out = new Growing(count)
  const into = new Int32Array(count).fill(-1)
  const pseudo: number[] = []
  /** By thread's top and submitting node, both of `out`: its twin below that top. */
  const twins = new Map<number, number>()
  for (let from = 1; from < count; from++) {
    if ((from & ALIVE_NODES) === ALIVE_NODES) alive()
    const above = parent[from]
    const submitter = above < 0 ? -1 : handedOverFrom(method[from])
    if (above < 0) into[from] = out.add(-1, method[from])
    else if (submitter >= 0) {
      // A submitter has a lower index than what it handed over, so it is in place.
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

/** The node below `top` that has the path of `node`, made if need be. Contexts are deep: no recursion. */
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
