// Integers of variable length (LEB128): seven bits per byte, the low bits first. The high bit of a byte means that more bytes follow.
// Signed numbers keep their sign in the lowest bit (zigzag), so small numbers of either sign are short.

import { Malformed } from '../wire/unpack.ts'

/** Maximum length of a number. 8 bytes hold 56 bits, and 2^53 needs 54 bits. */
const MAX_BYTES = 8
const MAX_VALUE = Number.MAX_SAFE_INTEGER

export class VarintWriter {
  #bytes = Buffer.allocUnsafe(1 << 12)
  #length = 0

  get length(): number {
    return this.#length
  }

  /** @param value  an integer from 0 to 2^53 - 1 */
  unsigned(value: number): void {
    if (this.#length + MAX_BYTES > this.#bytes.length) this.#grow()
    const bytes = this.#bytes
    let at = this.#length
    let rest = value
    for (; rest >= 2 ** 31; rest = Math.floor(rest / 128)) bytes[at++] = (rest % 128) | 0x80
    for (; rest >= 128; rest >>>= 7) bytes[at++] = (rest & 0x7f) | 0x80
    bytes[at++] = rest
    this.#length = at
  }

  /** @param value  an integer with an absolute value below 2^52 */
  signed(value: number): void {
    this.unsigned(value < 0 ? -2 * value - 1 : 2 * value)
  }

  /** Returns a copy of the bytes. */
  finish(): Buffer {
    return Buffer.from(this.#bytes.subarray(0, this.#length))
  }

  /** Appends all bytes of `other`. */
  append(other: VarintWriter): void {
    while (this.#length + other.#length > this.#bytes.length) this.#grow()
    other.#bytes.copy(this.#bytes, this.#length, 0, other.#length)
    this.#length += other.#length
  }

  #grow(): void {
    const larger = Buffer.allocUnsafe(this.#bytes.length * 2)
    this.#bytes.copy(larger, 0, 0, this.#length)
    this.#bytes = larger
  }
}

/** Returns the number of bytes that `unsigned` writes. */
export function bytesOf(value: number): number {
  let bytes = 1
  for (let rest = value; rest >= 128; rest = Math.floor(rest / 128)) bytes++
  return bytes
}

export class VarintReader {
  #at = 0

  constructor(private readonly bytes: Uint8Array) {}

  get isAtEnd(): boolean {
    return this.#at === this.bytes.length
  }

  /** Number of unread bytes. An upper bound for the length of a list, since each element has at least one byte. */
  get left(): number {
    return this.bytes.length - this.#at
  }

  /** @throws Malformed if the number is truncated, or larger than 2^53 - 1 */
  unsigned(): number {
    let value = 0
    let scale = 1
    for (let i = 0; i < MAX_BYTES; i++) {
      const byte = this.bytes[this.#at++]
      if (byte === undefined) throw new Malformed('a number that ends')
      value += (byte & 0x7f) * scale
      if (byte < 0x80) {
        if (value > MAX_VALUE) break
        return value
      }
      scale *= 128
    }
    throw new Malformed('a number above 2^53')
  }

  signed(): number {
    const value = this.unsigned()
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2
  }
}
