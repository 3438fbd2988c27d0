// Compresses pieces of bytes to gzip (RFC 1952), one chunk at a time. With the streams of node:zlib, every format would be asynchronous.

import { constants, crc32, deflateRawSync } from 'node:zlib'

/** Header: magic, method deflate, no flags, no time, no compression level, operating system unknown. */
const HEADER = Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255)
/** End of a deflate stream: a last block without contents. */
const LAST_BLOCK = Uint8Array.of(3, 0)
const CHUNK_BYTES = 1 << 18

export function* gzip(pieces: Iterable<Uint8Array>): Generator<Uint8Array> {
  yield HEADER
  let crc = 0
  let length = 0
  for (const chunk of chunks(pieces)) {
    crc = crc32(chunk, crc)
    length += chunk.length
    // The flush ends the chunk at a byte boundary, so that the next chunk can be appended.
    yield deflateRawSync(chunk, { finishFlush: constants.Z_SYNC_FLUSH })
  }
  yield LAST_BLOCK
  const trailer = Buffer.alloc(8)
  trailer.writeUInt32LE(crc, 0)
  trailer.writeUInt32LE(length % 2 ** 32, 4)
  yield trailer
}

/** Joins pieces into chunks for compression; no chunk is empty. */
function* chunks(pieces: Iterable<Uint8Array>): Generator<Uint8Array> {
  let held: Uint8Array[] = []
  let bytes = 0
  for (const piece of pieces) {
    held.push(piece)
    bytes += piece.length
    if (bytes < CHUNK_BYTES) continue
    yield Buffer.concat(held, bytes)
    held = []
    bytes = 0
  }
  if (bytes > 0) yield Buffer.concat(held, bytes)
}
