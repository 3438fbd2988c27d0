// The part of Protocol Buffers' wire format (protobuf.dev, "Encoding") that OTLP needs. A message is a sequence of fields, each a tag,
// `number << 3 | type`, and a value. Types: 0 a varint, 1 eight bytes, 2 a length and bytes, 5 four bytes.
// A nested message is preceded by its length. So a message consists of parts that know their length before their bytes exist, and that
// generate the bytes on request. The encoded bytes of a million contexts are never all in memory at once.

import { addTo } from '../base/arrays.ts'
import { GrowingBytes } from '../base/growing-bytes.ts'

const VARINT = 0
const FIXED64 = 1
const BYTES = 2
const FIXED32 = 5

/** Fields of a message, encoded on request. Repeated calls of `pieces` yield the same bytes. */
export interface Part {
  /** Length in bytes. */
  readonly length: number
  pieces(): Iterable<Uint8Array>
}

/** A small set of fields. */
export class Fields extends GrowingBytes implements Part {
  *pieces(): Generator<Uint8Array> {
    yield this.bytes
  }

  /** Writes an int32, int64 or uint64, from 0 to 2^53. As in proto3, 0 is not written. */
  number(field: number, value: number): this {
    if (value === 0) return this
    return this.#varint(field * 8 + VARINT).#varint(value)
  }

  /** Writes a fixed64, also above 2^53. */
  fixed64(field: number, value: bigint): this {
    if (value === 0n) return this
    this.#varint(field * 8 + FIXED64)
    this.at = this.room(8).writeBigUInt64LE(value, this.at)
    return this
  }

  /** Writes a string, bytes, or an encoded message. Also writes an empty value, since it may be an element of a list. */
  put(field: number, value: string | Uint8Array): this {
    const bytes = typeof value === 'string' ? Buffer.from(value) : value
    return this.head(field, bytes.length).add(bytes)
  }

  /** Writes the tag and length of a field of `length` bytes. */
  head(field: number, length: number): this {
    return this.#varint(field * 8 + BYTES).#varint(length)
  }

  message(field: number, { bytes }: Fields): this {
    return this.put(field, bytes)
  }

  /** Writes a packed list of varints. */
  numbers(field: number, values: readonly number[]): this {
    if (values.length === 0) return this
    let length = 0
    for (const value of values) length += varintLength(value)
    this.head(field, length)
    for (const value of values) this.#varint(value)
    return this
  }

  #varint(value: number): this {
    const bytes = this.room(MAX_VARINT_BYTES)
    let left = value
    for (; left >= 0x80; left = Math.floor(left / 0x80)) bytes[this.at++] = (left % 0x80) + 0x80
    bytes[this.at++] = left
    return this
  }
}

const MAX_VARINT_BYTES = 10

function varintLength(value: number): number {
  let length = 1
  for (let left = value; left >= 0x80; left = Math.floor(left / 0x80)) length++
  return length
}

/** Returns a message as a field of another message. */
export function nested(field: number, parts: readonly Part[]): Part {
  const length = parts.reduce((sum, part) => sum + part.length, 0)
  const head = new Fields().head(field, length).bytes
  return {
    length: head.length + length,
    *pieces() {
      yield head
      for (const part of parts) yield* part.pieces()
    },
  }
}

/**
 * Returns a part with many fields. The fields are generated twice: first to add up their length, then for the output.
 *
 * @param seen  receives the fields when they are generated for the first time
 * @yields an empty array after each piece, so that other tasks can run
 */
export function* measured(
  make: () => Iterable<Uint8Array>,
  seen: { update(piece: Uint8Array): unknown },
): Generator<Uint8Array, Part> {
  let length = 0
  for (const piece of make()) {
    length += piece.length
    seen.update(piece)
    yield NOTHING
  }
  return { length, pieces: make }
}

const NOTHING = new Uint8Array(0)

/** Joins small pieces into blocks of about 16 KiB. */
export function* inBlocks(each: Iterable<Fields>): Generator<Uint8Array> {
  let block = new Fields(2 * BLOCK_BYTES)
  for (const fields of each) {
    block.add(fields.bytes)
    if (block.length < BLOCK_BYTES) continue
    yield block.bytes
    block = new Fields(2 * BLOCK_BYTES)
  }
  if (block.length > 0) yield block.bytes
}

const BLOCK_BYTES = 1 << 14

/** Decoded fields: numbers or bytes. */
export type Decoded = ReadonlyMap<number, readonly (bigint | Uint8Array)[]>

/**
 * Decodes the fields of a message, keyed by number.
 *
 * @throws RangeError if the bytes are not a message
 */
export function decode(bytes: Uint8Array): Decoded {
  const fields = new Map<number, (bigint | Uint8Array)[]>()
  let at = 0
  const byte = (): number => {
    const value = bytes[at++]
    if (value === undefined) throw new RangeError('a message ends inside a field')
    return value
  }
  const number = (): bigint => {
    let value = 0n
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const next = byte()
      value |= BigInt(next & 0x7f) << shift
      if (next < 0x80) return BigInt.asUintN(64, value)
    }
    throw new RangeError('a number has no end')
  }
  const take = (length: bigint): Uint8Array => {
    if (length > BigInt(bytes.length - at)) throw new RangeError('a field is longer than its message')
    at += Number(length)
    return bytes.subarray(at - Number(length), at)
  }
  const read = (type: number): bigint | Uint8Array => {
    if (type === VARINT) return number()
    if (type === BYTES) return take(number())
    if (type === FIXED64) return take(8n)
    if (type === FIXED32) return take(4n)
    throw new RangeError(`no field has the type ${type}`)
  }
  while (at < bytes.length) {
    const tag = number()
    const type = Number(tag & 7n)
    const value = read(type)
    addTo(fields, Number(tag >> 3n), value)
  }
  return fields
}
