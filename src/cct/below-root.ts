// The tree of one method: all its calls in any context, with their callees, as calls of one root.

import type { Tree } from './tree.ts'
import { mergedOf } from './union.ts'

/**
 * Returns the tree that a recording with this method as its root would have. Of nested calls, only the outermost one is a root. Equal
 * contexts below the root are merged. The sums of collapsed contexts are omitted, since their root is unknown.
 *
 * @returns a tree with one top node; an empty tree if the method has no node
 */
export function belowRoot(tree: Tree, root: number): Tree {
  const { methodOf } = tree
  const wanted = methodOf?.[root] ?? root
  const isRoot = (method: number) => (methodOf?.[method] ?? method) === wanted
  const kept: number[] = []
  for (let node = 0; node < tree.count; ) {
    if (!isRoot(tree.method[node]!)) node++
    else for (const end = node + tree.size[node]!; node < end; node++) kept.push(node)
  }
  const place = new Int32Array(tree.count).fill(-1)
  for (const [at, node] of kept.entries()) place[node] = at
  // The caller of an outermost call is not kept, so the place of the caller is -1.
  const parent = Int32Array.from(kept, (node) => (tree.parent[node]! < 0 ? -1 : place[tree.parent[node]!]!))
  const cut = {
    count: kept.length,
    method: Int32Array.from(kept, (node, at) => (parent[at]! < 0 ? root : tree.method[node]!)),
    parent,
    size: Int32Array.from(kept, (node) => tree.size[node]!),
    metrics: Object.fromEntries(
      Object.entries(tree.metrics).map(([name, values]) => [
        name,
        Float64Array.from(kept, (node) => values[node]!),
      ]),
    ),
  }
  const merged = mergedOf([{ tree: cut, idOf: (method) => method }])
  return methodOf === undefined ? merged : { ...merged, methodOf }
}
