// Whole numbers in as few bytes as they need: seven bits a byte, the low ones first, the high bit saying that more follow (LEB128).
// Differences carry their sign in the lowest bit (zigzag), so that small ones of either sign are short.

import { Malformed } from '../wire/unpack.ts'

/** 2^53 has 54 bits. */
const MOST_BYTES = 8
const MOST = Number.MAX_SAFE_INTEGER

export class VarintWriter {
  #bytes = Buffer.allocUnsafe(1 << 12)
  #length = 0

  get length(): number {
    return this.#length
  }

  /** @param value  whole, 0 to 2^53 - 1 */
  unsigned(value: number): void {
    if (this.#length + MOST_BYTES > this.#bytes.length) this.#grow()
    const bytes = this.#bytes
    let at = this.#length
    let rest = value
    for (; rest >= 2 ** 31; rest = Math.floor(rest / 128)) bytes[at++] = (rest % 128) | 0x80
    for (; rest >= 128; rest >>>= 7) bytes[at++] = (rest & 0x7f) | 0x80
    bytes[at++] = rest
    this.#length = at
  }

  /** @param value  whole, below 2^52 either way */
  signed(value: number): void {
    this.unsigned(value < 0 ? -2 * value - 1 : 2 * value)
  }

  /** A copy. */
  finish(): Buffer {
    return Buffer.from(this.#bytes.subarray(0, this.#length))
  }

  /** All of `other` behind what is here. */
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

/** How many bytes `unsigned` takes. */
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

  /** Bytes that are left: no list is longer. */
  get left(): number {
    return this.bytes.length - this.#at
  }

  /** @throws Malformed if it ends, or is larger than 2^53 - 1 */
  unsigned(): number {
    let value = 0
    let scale = 1
    for (let i = 0; i < MOST_BYTES; i++) {
      const byte = this.bytes[this.#at++]
      if (byte === undefined) throw new Malformed('a number that ends')
      value += (byte & 0x7f) * scale
      if (byte < 0x80) {
        if (value > MOST) break
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
