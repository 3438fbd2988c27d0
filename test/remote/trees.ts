// Trees to send: created from a seed, changed at random, and formatted as text for comparison.

import type { Tree } from '../../src/cct/tree.ts'

/** Returns a linear congruential generator, whose numbers depend only on the seed. */
export function randomFrom(seed: number): (below: number) => number {
  let state = seed >>> 0
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

/** A mutable context; `treeOf` creates a snapshot of it. */
export interface Context {
  readonly method: number
  calls: number
  selfNs: number
  measuredNs: number
  children: Context[]
}

export function context(method: number, calls = 0, selfNs = 0, children: Context[] = []): Context {
  return { method, calls, selfNs, measuredNs: selfNs + calls, children }
}

/** Returns the tree in preorder, as in a snapshot of the recorder. */
export function treeOf(tops: readonly Context[]): Tree {
  const nodes: Context[] = []
  const parent: number[] = []
  const left = tops.map((node) => ({ node, above: -1 })).reverse()
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const at = nodes.length
    nodes.push(next.node)
    parent.push(next.above)
    for (const child of next.node.children.toReversed()) left.push({ node: child, above: at })
  }
  const count = nodes.length
  const size = new Int32Array(count).fill(1)
  const column = (of: (node: Context) => number) => Float64Array.from(nodes, of)
  const totalNs = column((it) => it.selfNs)
  for (let i = count - 1; i >= 0; i--) {
    if (parent[i]! < 0) continue
    size[parent[i]!]! += size[i]!
    totalNs[parent[i]!]! += totalNs[i]!
  }
  const metrics = {
    calls: column((it) => it.calls),
    selfNs: column((it) => it.selfNs),
    totalNs,
    measuredNs: column((it) => it.measuredNs),
    warmupCalls: column(() => 0),
    warmupSelfNs: column(() => 0),
  }
  return {
    count,
    method: Int32Array.from(nodes, (it) => it.method),
    parent: Int32Array.from(parent),
    size,
    metrics,
  }
}

/** Returns one line per context with its path and values, sorted, since the order of children does not matter. */
export function linesOf({ count, method, parent, size, metrics }: Tree): string[] {
  const path: string[] = []
  return Array.from({ length: count }, (_, i) => {
    path[i] = `${parent[i]! < 0 ? '' : `${path[parent[i]!]};`}${method[i]}`
    const values = Object.keys(metrics)
      .sort()
      .map((name) => `${name} ${Math.round(metrics[name]![i]!)}`)
    return `${path[i]}: ${size[i]} ${values.join(' ')}`
  }).sort()
}
