// Regions of arrays: one tag for all elements, then the elements. In a region that the JVM sends, each object also has its own tag
// (`typed-sequence`). In a region that is sent to the JVM, objects have no tag.

import type { DataReader, DataWriter } from './data.ts'
import { MalformedJdwp } from './errors.ts'
import {
  isPrimitive,
  type ObjectTag,
  type ObjectValue,
  PRIMITIVES,
  readObject,
  readTag,
  writeUntagged,
} from './values.ts'

/**
 * A region of an array. The values of a `char[]` are a string of UTF-16 units. To use a `Buffer` as the values of a `byte[]`, write
 * `new Int8Array(buffer.buffer, buffer.byteOffset, buffer.length)`.
 */
export type ArrayRegion =
  | { readonly tag: 'BYTE'; readonly values: Int8Array }
  | { readonly tag: 'SHORT'; readonly values: Int16Array }
  | { readonly tag: 'INT'; readonly values: Int32Array }
  | { readonly tag: 'LONG'; readonly values: BigInt64Array }
  | { readonly tag: 'FLOAT'; readonly values: Float32Array }
  | { readonly tag: 'DOUBLE'; readonly values: Float64Array }
  | { readonly tag: 'BOOLEAN'; readonly values: readonly boolean[] }
  | { readonly tag: 'CHAR'; readonly values: string }
  | { readonly tag: ObjectTag; readonly values: readonly ObjectValue[] }

const NUMBERS = {
  BYTE: Int8Array,
  SHORT: Int16Array,
  INT: Int32Array,
  LONG: BigInt64Array,
  FLOAT: Float32Array,
  DOUBLE: Float64Array,
} as const

/** @throws MalformedJdwp */
export function readRegion(r: DataReader): ArrayRegion {
  const tag = readTag(r)
  if (tag === 'VOID') throw new MalformedJdwp('an array of void')
  if (!isPrimitive(tag)) return { tag, values: r.list(() => readObject(r)) }
  const n = r.count()
  const bytes = r.bytes(n * PRIMITIVES[tag].bytes)
  if (tag === 'BOOLEAN') {
    r.things(n)
    return { tag, values: Array.from(bytes, (it) => it !== 0) }
  }
  swap(bytes, PRIMITIVES[tag].bytes)
  if (tag === 'CHAR') return { tag, values: bytes.toString('utf16le') }
  return { tag, values: new NUMBERS[tag](own(bytes)) } as ArrayRegion
}

/** Converts between the big-endian byte order of a packet and the little-endian byte order of typed arrays. */
function swap(bytes: Buffer, size: number): Buffer {
  if (size === 1) return bytes
  return size === 2 ? bytes.swap16() : size === 4 ? bytes.swap32() : bytes.swap64()
}

/** Copies a Buffer, for use by a typed array. A small Buffer is part of a larger ArrayBuffer, possibly at an unaligned offset. */
function own(bytes: Buffer): ArrayBuffer {
  return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) as ArrayBuffer
}

/** Writes count and elements for ArrayReference.SetValues, without the tag, since the JVM knows the element type. */
export function writeRegion(w: DataWriter, region: ArrayRegion): void {
  const { tag, values } = region
  w.int(values.length)
  if (tag === 'BOOLEAN') w.bytes(Uint8Array.from(values, (it) => (it ? 1 : 0)))
  else if (tag === 'CHAR') w.bytes(Buffer.from(values, 'utf16le').swap16())
  else if (tag in NUMBERS) {
    const { buffer, byteOffset, byteLength, BYTES_PER_ELEMENT: size } = values as Int8Array
    w.bytes(swap(Buffer.from(new Uint8Array(buffer, byteOffset, byteLength)), size))
  } else for (const value of values as readonly ObjectValue[]) writeUntagged(w, value)
}
