// Allocated bytes that belong to no allocation site: the rows "(not attributed)" below roots (--mode alloc).

import { isNotAttributed } from '../cct/allocation.ts'
import { SAMPLED } from '../cct/merge-samples.ts'
import type { Tree } from '../cct/tree.ts'
import { METRICS } from '../measures/columns.ts'
import { column, nameOf, type Profile, rootTotal } from './profile.ts'

const { self, total } = METRICS.alloc

export interface Attribution {
  /** Bytes at executed allocation sites. */
  readonly siteBytes: number
  /** Bytes of code without probes, estimated from samples. */
  readonly sampledBytes: number
  /** Further bytes that the JVM has counted inside the roots. */
  readonly notAttributedBytes: number
}

export function attributionOf({ merged, methodNames }: Profile): Attribution {
  const [bytes, totals] = [column(merged, self), column(merged, total)]
  const { known } = merged.metrics
  let [sampledBytes, notAttributedBytes] = [0, 0]
  for (let node = 0; node < merged.count; ) {
    const isSampled = known?.[node] === SAMPLED
    if (isSampled) sampledBytes += totals[node]!
    else if (isNotAttributed(nameOf(methodNames, merged.method[node]!))) notAttributedBytes += bytes[node]!
    node += isSampled ? merged.size[node]! : 1
  }
  return {
    siteBytes: rootTotal(merged) - sampledBytes - notAttributedBytes,
    sampledBytes,
    notAttributedBytes,
  }
}

/** Returns the tree with the rows and the bytes of allocation sites only. */
export function withSitesOnly(tree: Tree, methodNames: Profile['methodNames']): Tree {
  const { known, samples: _, sdNs: __, ...metrics } = tree.metrics
  const kept: number[] = []
  const place = new Int32Array(tree.count)
  const size = tree.size.slice()
  const totals = column(tree, total).slice()
  for (let node = 0; node < tree.count; ) {
    const isOfSites = known?.[node] !== SAMPLED && !isNotAttributed(nameOf(methodNames, tree.method[node]!))
    if (isOfSites) {
      place[node] = kept.push(node) - 1
      node++
      continue
    }
    for (let above = tree.parent[node]!; above >= 0; above = tree.parent[above]!) {
      size[above]! -= tree.size[node]!
      totals[above]! -= column(tree, total)[node]!
    }
    node += tree.size[node]!
  }
  const columns = Object.entries(metrics).map(([name, of]) => {
    const values = name === total ? totals : of
    return [name, Float64Array.from(kept, (node) => values[node]!)] as const
  })
  return {
    ...tree,
    count: kept.length,
    method: Int32Array.from(kept, (node) => tree.method[node]!),
    parent: Int32Array.from(kept, (node) => (tree.parent[node]! < 0 ? -1 : place[tree.parent[node]!]!)),
    size: Int32Array.from(kept, (node) => size[node]!),
    metrics: Object.fromEntries(columns),
  }
}
