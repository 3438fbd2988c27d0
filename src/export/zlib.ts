// Compresses pieces of bytes to zlib (RFC 1950), for a format that writes the compressed length before the data. Only the compressed bytes
// are held in memory.

import { constants, deflateRawSync } from 'node:zlib'
import { chunks } from './gzip.ts'

/** Header: deflate with a window of 32 KiB, no dictionary, and the check bits. */
const HEADER = Uint8Array.of(0x78, 0x9c)
/** A stored block without contents, as a flush writes it. */
const EMPTY_BLOCK = Uint8Array.of(0, 0, 0, 0xff, 0xff)
/** Read size of Java's InflaterInputStream. */
const READ_BYTES = 512
/** Maximum number of bytes after the last byte of data: the end of a block, and the checksum. */
const TAIL_BYTES = 16

/**
 * Returns the compressed `bytes` in pieces, and the `length` of the input.
 * Some readers read blocks of 512 bytes. They leave the last block unread if it contains no data, only the end of the stream, and then read
 * this block as the next field. Padding therefore ensures that the compressed length does not exceed a multiple of 512 by a few bytes.
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

/** Adler-32 checksum. */
class Adler {
  #a = 1
  #b = 0

  add(bytes: Uint8Array): void {
    let [a, b] = [this.#a, this.#b]
    for (let at = 0; at < bytes.length; ) {
      // With 65,536 bytes per step, the sums stay below 2^53.
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
