// Text form of a node's call site, which views show after the method's name.

import type { MethodName, Tree } from '../cct/tree.ts'
import { placeText } from './text.ts'

/** Returns ":42", or ":42@17" if line 42 calls the method twice. Returns "" if the call site is not recorded, or not unique. */
export function placeOf(tree: Tree, node: number, names: (id: number) => MethodName): string {
  const { method, methodOf, parent, size } = tree
  if (methodOf === undefined) return ''
  const id = method[node]!
  const name = names(id)
  const place = placeText(name)
  const above = parent[node]!
  if (name.line === undefined || above < 0) return place
  const end = above + size[above]!
  for (let child = above + 1; child < end; child += size[child]!) {
    const other = method[child]!
    if (other === id || methodOf[other] !== methodOf[id] || names(other).line !== name.line) continue
    return `${place}@${name.bci}`
  }
  return place
}
