// What only some methods have led to, in all that was recorded: when they are left out, that is left out with them.

import { append } from '../../base/arrays.ts'
import type { Tree } from '../../cct/tree.ts'

/**
 * Methods that were called by these, or by what they called, and by nothing else.
 *
 * Costs one walk over the tree, and one over the edges between its methods.
 *
 * @param methodOf  the method of a node's id
 * @param out       methods that are left out
 * @param mayGo     a root stays, and so does what it calls
 */
export function onlyBelow(
  { count, method, parent }: Tree,
  methodOf: (id: number) => number,
  out: ReadonlySet<number>,
  mayGo: (method: number) => boolean,
): Set<number> {
  const idAt = (node: number) => methodOf(method[node]!)
  const callees = new Map<number, Set<number>>()
  const callers = new Map<number, Set<number>>()
  for (let node = 0; node < count; node++) {
    const caller = parent[node]! < 0 ? OUTSIDE : idAt(parent[node]!)
    const callee = idAt(node)
    add(callees, caller, callee)
    add(callers, callee, caller)
  }
  const below = new Set<number>()
  const left = [...out]
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    for (const callee of callees.get(next) ?? []) {
      if (out.has(callee) || below.has(callee) || !mayGo(callee)) continue
      below.add(callee)
      left.push(callee)
    }
  }
  const stays = (it: number) => [...(callers.get(it) ?? [])].some((by) => !out.has(by) && !below.has(by))
  const doubtful = [...below]
  for (let next = doubtful.pop(); next !== undefined; next = doubtful.pop()) {
    if (!below.has(next) || !stays(next)) continue
    below.delete(next)
    append(doubtful, callees.get(next) ?? [])
  }
  return below
}

/** Who calls a root. No method has this id. */
const OUTSIDE = 0

function add(map: Map<number, Set<number>>, key: number, value: number): void {
  const found = map.get(key)
  if (found === undefined) map.set(key, new Set([value]))
  else found.add(value)
}
