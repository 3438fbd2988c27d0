// Writes big-endian numbers into a buffer that grows.

export class Writer {
  #bytes: Uint8Array
  #length = 0

  constructor(capacity = 256) {
    this.#bytes = new Uint8Array(capacity)
  }

  get length(): number {
    return this.#length
  }

  u1(value: number): void {
    const at = this.#grow(1)
    this.#bytes[at] = value
  }

  u2(value: number): void {
    const at = this.#grow(2)
    this.#bytes[at] = value >>> 8
    this.#bytes[at + 1] = value
  }

  u4(value: number): void {
    const at = this.#grow(4)
    this.#bytes[at] = value >>> 24
    this.#bytes[at + 1] = value >>> 16
    this.#bytes[at + 2] = value >>> 8
    this.#bytes[at + 3] = value
  }

  /** Appends the bytes `from[start, end)`. */
  copy(from: Uint8Array, start = 0, end = from.length): void {
    const at = this.#grow(end - start)
    if (end - start < 24) {
      // To copy a few bytes, such as an instruction, a loop is faster than a view.
      for (let i = start; i < end; i++) this.#bytes[at + i - start] = from[i]
    } else {
      this.#bytes.set(from.subarray(start, end), at)
    }
  }

  /** Overwrites two bytes written earlier, for example a count. */
  patchU2(at: number, value: number): void {
    this.#bytes[at] = value >>> 8
    this.#bytes[at + 1] = value
  }

  /** Returns a copy of the written bytes. */
  finish(): Uint8Array {
    return this.#bytes.slice(0, this.#length)
  }

  #grow(by: number): number {
    const at = this.#length
    this.#length = at + by
    if (this.#length > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(this.#length, this.#bytes.length * 2))
      larger.set(this.#bytes.subarray(0, at))
      this.#bytes = larger
    }
    return at
  }
}
