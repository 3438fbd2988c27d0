// Encodes a tree for the page: the displayed columns, deflated. If the tree is too large, small contexts are omitted.

import { deflateRawSync } from 'node:zlib'

export interface Columns {
  readonly [name: string]: Float64Array
}

/** Data of a tree to write: preorder arrays, as in a `Tree` or a `Difference`. */
export interface Nodes {
  readonly count: number
  /** Returns a node's index into the page's names. */
  readonly name: (node: number) => number
  readonly size: Int32Array
  readonly columns: Columns
}

export interface Block {
  readonly count: number
  readonly leftOut: number
  readonly bytes: Uint8Array
}

/** Encodes the kept nodes. @param kept  1 for each node to write, and for all its ancestors */
export function blockOf({ count, name, size, columns }: Nodes, kept: Uint8Array): Block {
  const nodes = Int32Array.from(keptNodes(kept))
  const written = nodes.length
  const leftOut = count - written
  const integers = leftOut > 0 ? 3 : 2
  const names = Object.keys(columns)
  const bytes = new Uint8Array(written * (8 * names.length + 4 * integers))
  const view = new DataView(bytes.buffer)
  let offset = 0
  for (const column of names) {
    const values = columns[column]!
    for (let i = 0; i < written; i++, offset += 8) view.setFloat64(offset, values[nodes[i]!]!, true)
  }
  const write = (value: (node: number) => number): void => {
    for (let i = 0; i < written; i++, offset += 4) view.setInt32(offset, value(nodes[i]!), true)
  }
  write(name)
  const sizes = keptSizes(size, kept)
  write((node) => sizes[node]!)
  if (leftOut > 0) write((node) => leftOutBelow(node, size, kept))
  return { count: written, leftOut, bytes: deflateRawSync(bytes) }
}

/** Yields the kept nodes in their order. */
export function* keptNodes(kept: Uint8Array): Generator<number> {
  for (let node = 0; node < kept.length; node++) if (kept[node] === 1) yield node
}

/** Returns for each node the number of kept nodes in its subtree. */
export function keptSizes(size: Int32Array, kept: Uint8Array): Int32Array {
  const before = new Int32Array(kept.length + 1)
  for (let node = 0; node < kept.length; node++) before[node + 1] = before[node]! + kept[node]!
  return size.map((nodes, node) => before[node + nodes]! - before[node]!)
}

/** Returns the number of omitted nodes in subtrees that begin at an omitted child of `node`. */
function leftOutBelow(node: number, size: Int32Array, kept: Uint8Array): number {
  let left = 0
  const end = node + size[node]!
  for (let child = node + 1; child < end; child += size[child]!) if (kept[child] === 0) left += size[child]!
  return left
}
