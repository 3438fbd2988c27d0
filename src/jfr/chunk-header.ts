// Parses the header of a chunk. A recording is a sequence of chunks, each with its own metadata and constants.
//
//   offset  size  type   field         all fields are big-endian
//        0     4  bytes  magic         "FLR\0"
//        4     2  u16    major         2
//        6     2  u16    minor         1
//        8     8  u64    size          number of complete bytes, header included
//       16     8  u64    constants     offset of the newest checkpoint
//       24     8  u64    metadata      offset of the newest metadata event; 0 before the first flush
//       32     8  u64    startNanos    ns since 1970
//       40     8  u64    durationNanos
//       48     8  u64    startTicks
//       56     8  u64    ticksPerSecond
//       64     1  u8     state         0: finished; 255: the header is being written; otherwise the number of flushes, 1 to 254
//       65     1  u8     pad
//       66     2  u16    flags         bit 0: integers are compressed; bit 1: last chunk, written when the JVM ends
//
// A recording JVM appends to the file. Once a second, it rewrites the header when all bytes before the new `size` are complete. All events
// before `size` refer only to constants in checkpoints before `size`. (JDK: jdk.jfr.internal.consumer.ChunkHeader.)

import { BadRecording } from './problem.ts'

export const HEADER_BYTES = 68
const MAGIC = 0x464c5200
const UPDATING = 255

export interface ChunkHeader {
  readonly size: number
  readonly metadata: number
  readonly startTicks: bigint
  readonly ticksPerSecond: number
  readonly finished: boolean
}

/**
 * Parses the header.
 *
 * @returns null while the JVM is writing the header
 * @throws BadRecording
 */
export function parseChunkHeader(bytes: Buffer): ChunkHeader | null {
  if (bytes.length < HEADER_BYTES || bytes.readUInt32BE(0) !== MAGIC) {
    throw new BadRecording('the header of a chunk is missing')
  }
  const major = bytes.readUInt16BE(4)
  if (major !== 2) throw new BadRecording(`its format is version ${major}.${bytes.readUInt16BE(6)}`)
  const state = bytes[64]!
  if (state === UPDATING) return null
  if ((bytes.readUInt16BE(66) & 1) === 0) throw new BadRecording('its integers are not compressed')
  const header = {
    size: Number(bytes.readBigUInt64BE(8)),
    metadata: Number(bytes.readBigUInt64BE(24)),
    startTicks: bytes.readBigUInt64BE(48),
    ticksPerSecond: Number(bytes.readBigUInt64BE(56)),
    finished: state === 0,
  }
  if (header.size < HEADER_BYTES || header.metadata > header.size) {
    throw new BadRecording('the header of a chunk contradicts itself')
  }
  return header
}
