// Bytes written one after the other, into a buffer that grows.

export class GrowingBytes {
  #buffer: Buffer
  /** Where the next byte goes. */
  protected at = 0

  constructor(capacity = 64) {
    this.#buffer = Buffer.allocUnsafe(capacity)
  }

  get length(): number {
    return this.at
  }

  /** A view: what is added later may change it. */
  get bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.at)
  }

  add(bytes: Uint8Array): this {
    this.room(bytes.length).set(bytes, this.at)
    this.at += bytes.length
    return this
  }

  /** The buffer, with room for so many bytes more. */
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
