// Parts of arrays: one tag for all of them, then the elements; objects with a tag each (`typed-sequence`) where the JVM
// tells, without where it is told.

import type { DataReader, DataWriter } from './data.ts'
import { MalformedJdwp } from './errors.ts'
import { type ObjectTag, type ObjectValue, readObject, readTag, writeUntagged } from './values.ts'

/**
 * Part of an array. A `char[]` is a string of its UTF-16 units. A `Buffer` as `values` of a `byte[]`:
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

const ELEMENT_BYTES = {
  BYTE: 1,
  BOOLEAN: 1,
  SHORT: 2,
  CHAR: 2,
  INT: 4,
  FLOAT: 4,
  LONG: 8,
  DOUBLE: 8,
} as const

/** @throws MalformedJdwp */
export function readRegion(r: DataReader): ArrayRegion {
  const tag = readTag(r)
  if (tag === 'VOID') throw new MalformedJdwp('an array of void')
  if (!(tag in ELEMENT_BYTES)) return { tag: tag as ObjectTag, values: r.list(() => readObject(r)) }
  const primitive = tag as keyof typeof ELEMENT_BYTES
  const n = r.count()
  const size = ELEMENT_BYTES[primitive]
  // swap16 and its like turn the copy into what typed arrays have on this machine, which is little-endian.
  const bytes = r.bytes(n * size)
  switch (primitive) {
    case 'BOOLEAN':
      r.things(n)
      return { tag: primitive, values: Array.from(bytes, (it) => it !== 0) }
    case 'CHAR':
      return { tag: primitive, values: bytes.swap16().toString('utf16le') }
    case 'BYTE':
      return { tag: primitive, values: new Int8Array(own(bytes)) }
    case 'SHORT':
      return { tag: primitive, values: new Int16Array(own(bytes.swap16())) }
    case 'INT':
      return { tag: primitive, values: new Int32Array(own(bytes.swap32())) }
    case 'FLOAT':
      return { tag: primitive, values: new Float32Array(own(bytes.swap32())) }
    case 'LONG':
      return { tag: primitive, values: new BigInt64Array(own(bytes.swap64())) }
    case 'DOUBLE':
      return { tag: primitive, values: new Float64Array(own(bytes.swap64())) }
  }
}

/** A small Buffer is a piece of a pool at any offset; a typed array wants one of its own. */
function own(bytes: Buffer): ArrayBuffer {
  return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length) as ArrayBuffer
}

/** The count and the elements, as ArrayReference.SetValues takes them. The tag stays here: the JVM knows the type. */
export function writeRegion(w: DataWriter, region: ArrayRegion): void {
  w.int(region.values.length)
  switch (region.tag) {
    case 'BOOLEAN':
      w.bytes(Uint8Array.from(region.values, (it) => (it ? 1 : 0)))
      break
    case 'CHAR':
      w.bytes(Buffer.from(region.values, 'utf16le').swap16())
      break
    case 'BYTE':
      w.bytes(copy(region.values))
      break
    case 'SHORT':
      w.bytes(copy(region.values).swap16())
      break
    case 'INT':
    case 'FLOAT':
      w.bytes(copy(region.values).swap32())
      break
    case 'LONG':
    case 'DOUBLE':
      w.bytes(copy(region.values).swap64())
      break
    default:
      for (const value of region.values) writeUntagged(w, value)
  }
}

function copy(values: ArrayBufferView): Buffer {
  return Buffer.from(new Uint8Array(values.buffer, values.byteOffset, values.byteLength))
}
