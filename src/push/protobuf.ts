// Protocol Buffers' wire format (protobuf.dev, "Encoding"), as much of it as OTLP needs: a message is fields one after the other,
// each a tag, `number << 3 | type`, and a value. Types: 0 a varint, 1 eight bytes, 2 a length and so many bytes, 5 four bytes.
//
// What lies inside a message comes behind its length. So a message is made of parts that know theirs before there are any
// bytes, and make them when they are asked: a tree of a million contexts is never there as a whole.

import { addTo } from '../base/arrays.ts'
import { GrowingBytes } from '../base/growing-bytes.ts'

const VARINT = 0
const FIXED64 = 1
const BYTES = 2
const FIXED32 = 5

/** Fields of a message, encoded when they are asked for, each time anew and the same. */
export interface Part {
  /** In bytes. */
  readonly length: number
  pieces(): Iterable<Uint8Array>
}

/** Fields that are small. */
export class Fields extends GrowingBytes implements Part {
  *pieces(): Generator<Uint8Array> {
    yield this.bytes
  }

  /** int32, int64, uint64: from 0 to 2^53; 0 is not written, as proto3 has it. */
  number(field: number, value: number): this {
    if (value === 0) return this
    return this.#varint(field * 8 + VARINT).#varint(value)
  }

  /** fixed64, also above 2^53. */
  fixed64(field: number, value: bigint): this {
    if (value === 0n) return this
    this.#varint(field * 8 + FIXED64)
    this.at = this.room(8).writeBigUInt64LE(value, this.at)
    return this
  }

  /** string, bytes, or a message of that encoding: also an empty one, which may be an element of a list. */
  put(field: number, value: string | Uint8Array): this {
    const bytes = typeof value === 'string' ? Buffer.from(value) : value
    return this.head(field, bytes.length).add(bytes)
  }

  /** What `length` bytes of a field have before them. */
  head(field: number, length: number): this {
    return this.#varint(field * 8 + BYTES).#varint(length)
  }

  message(field: number, { bytes }: Fields): this {
    return this.put(field, bytes)
  }

  /** A packed list of varints. */
  numbers(field: number, values: readonly number[]): this {
    if (values.length === 0) return this
    let length = 0
    for (const value of values) length += varintLength(value)
    this.head(field, length)
    for (const value of values) this.#varint(value)
    return this
  }

  #varint(value: number): this {
    const bytes = this.room(LONGEST_VARINT)
    let left = value
    for (; left >= 0x80; left = Math.floor(left / 0x80)) bytes[this.at++] = (left % 0x80) + 0x80
    bytes[this.at++] = left
    return this
  }
}

const LONGEST_VARINT = 10

function varintLength(value: number): number {
  let length = 1
  for (let left = value; left >= 0x80; left = Math.floor(left / 0x80)) length++
  return length
}

/** A message that is a field of another. */
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
 * Fields that are many, made twice: once to know how long they are, and then for good.
 *
 * @param seen  is given what is made the first time
 * @yields nothing, for each piece: others may have their turn
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

/** Joins what is made in little pieces: a new piece each 16 KiB or so. */
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

/** A field as it was written: a number, or bytes. */
export type Decoded = ReadonlyMap<number, readonly (bigint | Uint8Array)[]>

/**
 * The fields of a message, by number.
 *
 * @throws RangeError if these are not the bytes of a message
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
