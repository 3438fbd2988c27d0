// Reads big-endian numbers with bounds checks. Every length in a class file is checked here against the available bytes.

import { ClassFormatProblem } from './problem.ts'

export class Reader {
  readonly bytes: Uint8Array
  /** Offset of the next byte to read. */
  at: number
  /** Offset of the first byte that must not be read. */
  readonly end: number

  constructor(bytes: Uint8Array, at = 0, end = bytes.length) {
    this.bytes = bytes
    this.at = at
    this.end = end
  }

  u1(): number {
    const at = this.at
    if (at >= this.end) this.#truncated(1)
    this.at = at + 1
    return this.bytes[at]
  }

  u2(): number {
    const { at, bytes } = this
    if (at + 2 > this.end) this.#truncated(2)
    this.at = at + 2
    return (bytes[at] << 8) | bytes[at + 1]
  }

  u4(): number {
    const { at, bytes } = this
    if (at + 4 > this.end) this.#truncated(4)
    this.at = at + 4
    return bytes[at] * 0x1000000 + ((bytes[at + 1] << 16) | (bytes[at + 2] << 8) | bytes[at + 3])
  }

  /** Skips `length` bytes and returns their start offset. */
  skip(length: number): number {
    const at = this.at
    if (at + length > this.end) this.#truncated(length)
    this.at = at + length
    return at
  }

  /** Throws if unread bytes remain, which means that a length in the class file is wrong. */
  finish(what: string): void {
    if (this.at !== this.end) {
      throw new ClassFormatProblem(`${this.end - this.at} bytes too many in ${what} at offset ${this.at}`)
    }
  }

  #truncated(wanted: number): never {
    throw new ClassFormatProblem(
      `truncated: ${wanted} bytes wanted at offset ${this.at}, ${this.end - this.at} left`,
    )
  }
}

/** Reads two bytes without a bounds check, at an offset that a Reader has checked. */
export function u2At(bytes: Uint8Array, at: number): number {
  return (bytes[at] << 8) | bytes[at + 1]
}

export function s2At(bytes: Uint8Array, at: number): number {
  return ((bytes[at] << 24) >> 16) | bytes[at + 1]
}

export function s4At(bytes: Uint8Array, at: number): number {
  return (bytes[at] << 24) | (bytes[at + 1] << 16) | (bytes[at + 2] << 8) | bytes[at + 3]
}
