// A buffer that grows as bytes are appended.

export class GrowingBytes {
  #buffer: Buffer
  /** Offset of the next byte. */
  protected at = 0

  constructor(capacity = 64) {
    this.#buffer = Buffer.allocUnsafe(capacity)
  }

  get length(): number {
    return this.at
  }

  /** View of the bytes that have been appended. A later write may change its content. */
  get bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.at)
  }

  add(bytes: Uint8Array): this {
    this.room(bytes.length).set(bytes, this.at)
    this.at += bytes.length
    return this
  }

  /** Returns the buffer. Enlarges it first if it has no space for `bytes` more bytes. */
  protected room(bytes: number): Buffer {
    const needed = this.at + bytes
    if (needed > this.#buffer.length) {
      const larger = Buffer.allocUnsafe(Math.max(needed, 2 * this.#buffer.length))
      larger.set(this.bytes)
      this.#buffer = larger
    }
    return this.#buffer
  }
}
