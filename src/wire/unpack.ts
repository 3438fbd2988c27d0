// Decodes the part of MessagePack that the agent uses: nil, booleans, numbers, strings, binaries and arrays. A library would also accept
// maps, dates, regular expressions and records with generated code, from an untrusted peer.
// Every length is checked against the remaining bytes before memory is allocated. The number of values in a message is limited as well,
// since a single byte can encode an array.

import { jvmText } from '../base/jvm-text.ts'

/** Maximum number of values in one message. A list counts as eight values, since it needs more memory. 100,000 classes need 2 million. */
const MAX_VALUES = 32 << 20
const LIST_VALUES = 8
/** Maximum nesting depth; the deepest message has five levels. */
const MAX_DEPTH = 16

/** Thrown for bytes that no agent sends. */
export class Malformed extends Error {}

/**
 * Decodes the value in `bytes`, which must be fully consumed.
 *
 * @returns 64-bit integers as the nearest number; binaries as views of `bytes`
 * @throws Malformed; no other exception for any bytes
 */
export function unpack(bytes: Uint8Array): unknown {
  const reader = new Reader(bytes)
  const value = reader.value(0)
  if (reader.at !== bytes.length) throw new Malformed('a message with something behind it')
  return value
}

class Reader {
  at = 0
  readonly #bytes: Buffer
  #values = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  }

  value(depth: number): unknown {
    if (depth > MAX_DEPTH) throw new Malformed('a message of too many levels')
    this.#count(1)
    const code = this.#bytes[this.#advance(1)]!
    if (code < 0x80) return code
    if (code >= 0xe0) return code - 0x100
    if (code >= 0xa0 && code < 0xc0) return this.#string(code & 0x1f)
    if (code >= 0x90 && code < 0xa0) return this.#array(code & 0xf, depth)
    const bytes = this.#bytes
    switch (code) {
      case 0xc0:
        return null
      case 0xc2:
        return false
      case 0xc3:
        return true
      case 0xc4:
        return this.#binary(this.#unsigned(1))
      case 0xc5:
        return this.#binary(this.#unsigned(2))
      case 0xc6:
        return this.#binary(this.#unsigned(4))
      case 0xca:
        return bytes.readFloatBE(this.#advance(4))
      case 0xcb:
        return bytes.readDoubleBE(this.#advance(8))
      case 0xcc:
        return this.#unsigned(1)
      case 0xcd:
        return this.#unsigned(2)
      case 0xce:
        return this.#unsigned(4)
      case 0xcf:
        return Number(bytes.readBigUInt64BE(this.#advance(8)))
      case 0xd0:
        return bytes.readInt8(this.#advance(1))
      case 0xd1:
        return bytes.readInt16BE(this.#advance(2))
      case 0xd2:
        return bytes.readInt32BE(this.#advance(4))
      case 0xd3:
        return this.#long()
      case 0xd9:
        return this.#string(this.#unsigned(1))
      case 0xda:
        return this.#string(this.#unsigned(2))
      case 0xdb:
        return this.#string(this.#unsigned(4))
      case 0xdc:
        return this.#array(this.#unsigned(2), depth)
      case 0xdd:
        return this.#array(this.#unsigned(4), depth)
      default:
        throw new Malformed(`a value of type 0x${code.toString(16)}`)
    }
  }

  #count(values: number): void {
    this.#values += values
    if (this.#values > MAX_VALUES) throw new Malformed('a message of too many values')
  }

  /** Skips this number of bytes. @returns the offset of the skipped bytes */
  #advance(bytes: number): number {
    const from = this.at
    if (bytes > this.#bytes.length - from) throw new Malformed('a length beyond the message')
    this.at += bytes
    return from
  }

  #unsigned(bytes: 1 | 2 | 4): number {
    return this.#bytes.readUIntBE(this.#advance(bytes), bytes)
  }

  /** Reads a 64-bit integer, exact up to 2^53, without allocating a BigInt. */
  #long(): number {
    const from = this.#advance(8)
    return this.#bytes.readInt32BE(from) * 2 ** 32 + this.#bytes.readUInt32BE(from + 4)
  }

  #string(bytes: number): string {
    const from = this.#advance(bytes)
    return jvmText(this.#bytes, from, from + bytes)
  }

  #binary(bytes: number): Uint8Array {
    const from = this.#advance(bytes)
    return this.#bytes.subarray(from, from + bytes)
  }

  #array(length: number, depth: number): unknown[] {
    if (length > this.#bytes.length - this.at) throw new Malformed('a length beyond the message')
    this.#count(LIST_VALUES - 1)
    const items: unknown[] = []
    for (let i = 0; i < length; i++) items.push(this.value(depth + 1))
    return items
  }
}
