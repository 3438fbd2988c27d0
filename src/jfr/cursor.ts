// Decodes values of a flight recording (JDK: jdk.jfr.internal.consumer.RecordingInput). Integers are little-endian base 128 with at most
// nine bytes; the ninth byte contains eight bits of the value. Fixed-width values are big-endian.
// Every read is checked against the end of the data, and every count against the number of remaining bytes. Invalid input can therefore
// cause neither a long loop nor a large string.

import { jvmText } from '../base/jvm-text.ts'
import { BadRecording } from './problem.ts'

const STRING_NULL = 0
const STRING_EMPTY = 1
const STRING_CONSTANT = 2
const STRING_UTF8 = 3
const STRING_CHARS = 4
const STRING_LATIN1 = 5

/** Key of a string in a constant pool. */
export interface StringKey {
  readonly key: number
}

export class Cursor {
  constructor(
    readonly bytes: Buffer,
    public at = 0,
    readonly end = bytes.length,
  ) {}

  get left(): number {
    return this.end - this.at
  }

  byte(): number {
    if (this.at >= this.end) throw new BadRecording('a value runs over the end of its event')
    return this.bytes[this.at++]!
  }

  /** Reads an integer. An integer above 2^53 is rounded to the nearest double. Only keys and addresses can be larger than 2^53. */
  varint(): number {
    let value = 0
    let unit = 1
    for (let i = 0; i < 8; i++) {
      const byte = this.byte()
      value += (byte & 0x7f) * unit
      if (byte < 0x80) return value
      unit *= 128
    }
    return value + this.byte() * unit
  }

  skip(count: number): void {
    if (count > this.left) throw new BadRecording('a value runs over the end of its event')
    this.at += count
  }

  /** Reads the number of following elements. Each element has at least one byte, so a larger count is invalid. */
  count(): number {
    const count = this.varint()
    if (count > this.left) throw new BadRecording(`${count} elements in ${this.left} bytes`)
    return count
  }

  string(): string | null | StringKey {
    const encoding = this.byte()
    switch (encoding) {
      case STRING_NULL:
        return null
      case STRING_EMPTY:
        return ''
      case STRING_CONSTANT:
        return { key: this.varint() }
      case STRING_UTF8:
      case STRING_LATIN1: {
        const length = this.count()
        const begin = this.at
        this.skip(length)
        return encoding === STRING_UTF8
          ? jvmText(this.bytes, begin, this.at)
          : this.bytes.toString('latin1', begin, this.at)
      }
      case STRING_CHARS: {
        const codes = new Uint16Array(this.count())
        for (let i = 0; i < codes.length; i++) codes[i] = this.varint()
        return Buffer.from(codes.buffer).toString('utf16le')
      }
      default:
        throw new BadRecording(`a string of encoding ${encoding}`)
    }
  }
}
