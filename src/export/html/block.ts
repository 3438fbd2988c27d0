// A tree as the page has it: the columns it shows, without what is too small if there is too much, deflated.

import { deflateRawSync } from 'node:zlib'

export interface Columns {
  readonly [name: string]: Float64Array
}

/** What is written of a tree: preorder arrays, as those of a `Tree` or a `Difference`. */
export interface Nodes {
  readonly count: number
  /** Index into the page's names. */
  readonly name: (node: number) => number
  readonly size: Int32Array
  readonly columns: Columns
}

export interface Block {
  readonly count: number
  readonly leftOut: number
  readonly bytes: Uint8Array
}

/** @param kept  1 for what is written, with all above it */
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

/** In their order. */
export function* keptNodes(kept: Uint8Array): Generator<number> {
  for (let node = 0; node < kept.length; node++) if (kept[node] === 1) yield node
}

/** By node: how many of its subtree are kept. */
function keptSizes(size: Int32Array, kept: Uint8Array): Int32Array {
  const before = new Int32Array(kept.length + 1)
  for (let node = 0; node < kept.length; node++) before[node + 1] = before[node]! + kept[node]!
  return size.map((nodes, node) => before[node + nodes]! - before[node]!)
}

/** Those whose parent is kept and that are not, with all below them. */
function leftOutBelow(node: number, size: Int32Array, kept: Uint8Array): number {
  let left = 0
  const end = node + size[node]!
  for (let child = node + 1; child < end; child += size[child]!) if (kept[child] === 0) left += size[child]!
  return left
}
