// zlib (RFC 1950) of bytes that come in pieces, for a format that writes the compressed length before what is compressed:
// only the compressed bytes are held.

import { constants, deflateRawSync } from 'node:zlib'
import { chunks } from './gzip.ts'

/** Deflate with a window of 32 KiB, no dictionary; the check bits for it. */
const HEADER = Uint8Array.of(0x78, 0x9c)
/** A stored block without contents, as a flush leaves it. */
const EMPTY_BLOCK = Uint8Array.of(0, 0, 0, 0xff, 0xff)
/** Bytes that Java's InflaterInputStream reads at once. */
const READ_BYTES = 512
/** What may stand behind the last byte that says something: the end of a block, the checksum. */
const TAIL_BYTES = 16

/**
 * `bytes` one after the other; `length` of what they were.
 *
 * A reader that has all it wants may leave the last few bytes in the stream, and then take them for what follows, if they are
 * in a block of 512 of their own. So the length is never a little more than a multiple of 512.
 */
export function deflated(pieces: Iterable<Uint8Array>): { bytes: Uint8Array[]; length: number } {
  const bytes: Uint8Array[] = []
  let [length, compressed] = [0, HEADER.length + 4]
  const sum = new Adler()
  const compress = (chunk: Uint8Array, finishFlush: number): void => {
    sum.add(chunk)
    const made = deflateRawSync(chunk, { finishFlush })
    bytes.push(made)
    compressed += made.length
    length += chunk.length
  }
  let last: Uint8Array = new Uint8Array(0)
  for (const chunk of chunks(pieces)) {
    if (last.length > 0) compress(last, constants.Z_SYNC_FLUSH)
    last = chunk
  }
  compress(last, constants.Z_FINISH)
  const padding: Uint8Array[] = []
  while (compressed % READ_BYTES !== 0 && compressed % READ_BYTES < TAIL_BYTES) {
    padding.push(EMPTY_BLOCK)
    compressed += EMPTY_BLOCK.length
  }
  return { bytes: [HEADER, ...padding, ...bytes, sum.done], length }
}

/** The checksum, Adler-32. */
class Adler {
  #a = 1
  #b = 0

  add(bytes: Uint8Array): void {
    let [a, b] = [this.#a, this.#b]
    for (let at = 0; at < bytes.length; ) {
      // As many as cannot overflow 2^53, by far.
      const end = Math.min(at + 65_536, bytes.length)
      for (; at < end; at++) {
        a += bytes[at]!
        b += a
      }
      a %= 65_521
      b %= 65_521
    }
    this.#a = a
    this.#b = b
  }

  get done(): Uint8Array {
    const bytes = Buffer.alloc(4)
    bytes.writeUInt16BE(this.#b, 0)
    bytes.writeUInt16BE(this.#a, 2)
    return bytes
  }
}
