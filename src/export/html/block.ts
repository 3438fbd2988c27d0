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

/** @param kept  1 for what is written, with all above it; undefined for all */
export function blockOf({ count, name, size, columns }: Nodes, kept: Uint8Array | undefined): Block {
  const nodes = kept === undefined ? undefined : Int32Array.from(keptNodes(kept))
  const written = nodes?.length ?? count
  const at = (index: number): number => nodes?.[index] ?? index
  const leftOut = count - written
  const integers = leftOut > 0 ? 3 : 2
  const names = Object.keys(columns)
  const bytes = new Uint8Array(written * (8 * names.length + 4 * integers))
  const view = new DataView(bytes.buffer)
  let offset = 0
  for (const column of names) {
    const values = columns[column]!
    for (let i = 0; i < written; i++, offset += 8) view.setFloat64(offset, values[at(i)]!, true)
  }
  for (let i = 0; i < written; i++, offset += 4) view.setInt32(offset, name(at(i)), true)
  const sizes = kept === undefined ? size : keptSizes(size, kept)
  for (let i = 0; i < written; i++, offset += 4) view.setInt32(offset, sizes[at(i)]!, true)
  if (kept !== undefined && leftOut > 0) {
    for (let i = 0; i < written; i++, offset += 4)
      view.setInt32(offset, leftOutBelow(at(i), size, kept), true)
  }
  return { count: written, leftOut, bytes: deflateRawSync(bytes) }
}

function* keptNodes(kept: Uint8Array): Generator<number> {
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
