// The `.jfluid` file: one profile, lossless, written atomically.
//
// All numbers are little-endian.
//
//   offset  size  type   field
//        0     8  bytes  magic    89 4A 46 4C 55 49 44 0A, "\x89JFLUID\n"
//        8     4  u32    version  2 for modes unknown to version 1; 3 for regions and allocations; 4 with values; else 1
//       12     4  u32    crc      CRC-32 of the body
//       16     8  u64    length   length of the body; the file ends after it
//       24     n  bytes  body     MessagePack map
//
// The body is `Profile` with the same keys, except that
//   methodNames   is an array of [class, method, descriptor, loader], starting with id 1;
//   regions[].intervals   are arrays of [count, totalNs, maxNs];
//   course        is {first, events, waitNs, pauses, pauseNs, rootCalls: {calls, p50, p95, max}}. All values except
//     `first` are f64 arrays as `bin`, with one number per second; rootCalls is absent if root calls are not timed;
//   segments      is {widthMs, isCut, perTick, tree: {count, method, size}, segments}. A segment is {beginMs, endMs, epoch, count, row, calls,
//     self, rootCalls: {sum, count, bucket, calls}}: for each context that changed, its index in `tree`, its calls and its self cost, and
//     the histogram of the root calls that ended (regions/histogram.ts). Numbers are i32 and f64 arrays as `bin`; rootCalls may be null.
//     With scheme adaptive there is `samples` (cct/sample-times.ts): {frames: [class, method] each, depths, stacks, count, thread, stack,
//     state, call, ms, weight}, with two i32 numbers per stack (its caller's stack and its innermost frame), and one number per sample;
//   slowCalls     contains trees in the form of `merged`: `tree`, `slowest[].tree` and `latest.tree`;
//   jvms          is present if several JVMs were profiled; threads[] then contains one tree per JVM, in the same order;
//   callSites     is {bci, line}, i32 arrays as `bin` with one number per method name, -1 for none; absent
//     without call sites;
//   merged and threads[].tree   are {count, method, size, metrics: {name: column}}, where method and
//     size are i32 arrays and a column is an f64 array, each as MessagePack `bin`; the parents follow
//     from the sizes and are not stored. Method 0 is a row of collapsed contexts. If there are any, `merged` also
//     has `collapsed`, the sums of collapsed contexts per method: {count, method, calls, self, total}, columns as above;
//   lines         is {count, method, line, self, total, samples}: i32 and f64 arrays as `bin`, with one number per row (cct/line-samples.ts);
//   trace         is described in trace-file.ts.
//
// The first byte of the magic number is not ASCII, so that no program treats the file as text. Its last byte is a line feed, so that jfluid
// detects a transfer in text mode. A reader rejects newer versions, and checks every length before use, since files are not trusted.

import { constants } from 'node:buffer'
import { type FileHandle, open, stat } from 'node:fs/promises'
import { setImmediate as turnOfTheLoop } from 'node:timers/promises'
import { crc32 } from 'node:zlib'
import { Unpackr } from 'msgpackr/unpack'
import { SECTIONS } from '../measures/sections.ts'
import {
  CannotReadProfile,
  CannotWriteProfile,
  CorruptProfile,
  errorCode,
  NewerProfile,
  NotAProfile,
} from './errors.ts'
import { bodyPieces, CODEC } from './pack.ts'
import type { Profile } from './profile.ts'
import { readBody } from './read-body.ts'
import { replaceFile } from './replace-file.ts'
import { Unsound } from './shape.ts'

export const MAGIC = Buffer.from('\x89JFLUID\n', 'latin1')
export const VERSION = 4
const OFFSET_VERSION = 8
const OFFSET_CRC = 12
const OFFSET_LENGTH = 16
export const HEADER_BYTES = 24

/** Returns the bytes of a `.jfluid` file. */
export function encodeProfile(profile: Profile): Buffer {
  const body = Buffer.concat([...bodyPieces(profile)])
  return Buffer.concat([header(profile, crc32(body), body.length), body])
}

function header(profile: Profile, crc: number, length: number): Buffer {
  const bytes = Buffer.alloc(HEADER_BYTES)
  MAGIC.copy(bytes)
  bytes.writeUInt32LE(versionOf(profile), OFFSET_VERSION)
  bytes.writeUInt32LE(crc, OFFSET_CRC)
  bytes.writeBigUInt64LE(BigInt(length), OFFSET_LENGTH)
  return bytes
}

/** Returns the lowest version that a reader must support. */
function versionOf({ mode, regions, callSites, values, slowCalls }: Profile): number {
  // An earlier version would export values that --redact removes.
  if (values !== undefined) return 4
  // An earlier version would call this threshold damage.
  if (slowCalls?.threshold === 'threw') return 4
  if (regions !== undefined) return 3
  return Math.max(SECTIONS[mode].fileVersion, callSites ? 2 : 1)
}

/**
 * Decodes the bytes of a `.jfluid` file.
 * @param path  file name in error messages
 * @throws NotAProfile, NewerProfile or CorruptProfile; no input causes other errors
 */
export function decodeProfile(bytes: Uint8Array, path: string): Profile {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const magic = file.subarray(0, MAGIC.length)
  if (!magic.equals(MAGIC)) {
    if (magic.length > 0 && MAGIC.subarray(0, magic.length).equals(magic)) {
      throw new CorruptProfile(path, `it ends after ${file.length} bytes`)
    }
    throw new NotAProfile(path)
  }
  if (file.length < HEADER_BYTES) throw new CorruptProfile(path, `it ends after ${file.length} bytes`)
  const version = file.readUInt32LE(OFFSET_VERSION)
  if (version > VERSION) throw new NewerProfile(path, version, VERSION)
  if (version === 0) throw new CorruptProfile(path, 'format version 0 does not exist')
  const body = file.subarray(HEADER_BYTES)
  const length = file.readBigUInt64LE(OFFSET_LENGTH)
  if (BigInt(body.length) < length) {
    throw new CorruptProfile(path, `it ends after ${file.length} of ${length + BigInt(HEADER_BYTES)} bytes`)
  }
  if (BigInt(body.length) > length) throw new CorruptProfile(path, 'the file has data after its end')
  if (crc32(body) !== file.readUInt32LE(OFFSET_CRC)) throw new CorruptProfile(path, 'its checksum is wrong')
  let content: unknown
  try {
    content = new Unpackr(CODEC).unpack(body)
  } catch {
    throw new CorruptProfile(path, 'its body is not MessagePack')
  }
  try {
    return readBody(content)
  } catch (error) {
    throw error instanceof Unsound ? new CorruptProfile(path, error.message) : error
  }
}

/** Number of bytes per read. */
const READ_AT_ONCE = 16 << 20

/**
 * Reads a profile from a file.
 * @param onProgress  called after each read with the fraction read, 0 to 1
 * @throws CannotReadProfile, NotAProfile, NewerProfile, CorruptProfile
 */
export async function readProfile(
  path: string,
  onProgress: (part: number) => void = () => {},
): Promise<Profile> {
  let bytes: Uint8Array
  try {
    // Reading a directory would fail late, and reading a pipe might never end.
    const found = await stat(path)
    if (found.isDirectory()) throw Object.assign(new Error(), { code: 'EISDIR' })
    if (!found.isFile()) throw new NotAProfile(path)
    bytes = await readInPieces(path, onProgress)
  } catch (error) {
    if (error instanceof NotAProfile) throw error
    throw new CannotReadProfile(path, errorCode(error))
  }
  return decodeProfile(bytes, path)
}

/** Reads the whole file, or only its beginning if it is not a `.jfluid` file. */
async function readInPieces(path: string, onProgress: (part: number) => void): Promise<Uint8Array> {
  const handle = await open(path, 'r')
  try {
    const { size } = await handle.stat()
    const beginning = Buffer.alloc(Math.min(size, HEADER_BYTES))
    const { bytesRead } = await handle.read(beginning, 0, beginning.length, 0)
    if (!beginning.subarray(0, MAGIC.length).equals(MAGIC)) return beginning.subarray(0, bytesRead)
    if (size > constants.MAX_LENGTH) throw Object.assign(new Error(), { code: 'EFBIG' })
    const bytes = new Uint8Array(size)
    let at = 0
    while (at < size) {
      const { bytesRead } = await handle.read(bytes, at, Math.min(READ_AT_ONCE, size - at), at)
      if (bytesRead === 0) break // the file was truncated while it was read
      at += bytesRead
      onProgress(at / size)
    }
    return bytes.subarray(0, at)
  } finally {
    await handle.close()
  }
}

/**
 * Writes a profile atomically: `path` contains either its previous content or the whole profile (see `replaceFile`). Yields to the event
 * loop after each piece, since a million contexts take time and a session may be running.
 * @throws CannotWriteProfile
 */
export async function writeProfile(profile: Profile, path: string): Promise<void> {
  const body = [...bodyPieces(profile)]
  try {
    const pieces = [await headerInTurns(profile, body), ...body]
    await replaceFile(path, (handle) => writePieces(handle, pieces))
  } catch (error) {
    throw new CannotWriteProfile(path, errorCode(error))
  }
}

/** Number of bytes per checksum update or write. */
const AT_ONCE = 4 << 20

/** Writes pieces to a file. Joins small pieces, to reduce the number of writes. */
async function writePieces(handle: FileHandle, pieces: readonly Uint8Array[]): Promise<void> {
  let small: Uint8Array[] = []
  let bytes = 0
  const writeSmall = async (): Promise<void> => {
    if (bytes > 0) await handle.writeFile(Buffer.concat(small))
    small = []
    bytes = 0
  }
  for (const piece of pieces) {
    if (bytes + piece.length > AT_ONCE) await writeSmall()
    if (piece.length > AT_ONCE)
      await handle.writeFile(piece) // Node splits large writes itself
    else {
      small.push(piece)
      bytes += piece.length
    }
  }
  await writeSmall()
}

async function headerInTurns(profile: Profile, body: readonly Uint8Array[]): Promise<Buffer> {
  let crc = 0
  let length = 0
  let sinceTurn = 0
  for (const piece of body) {
    for (let at = 0; at < piece.length; at += AT_ONCE) {
      const part = piece.subarray(at, at + AT_ONCE)
      crc = crc32(part, crc)
      sinceTurn += part.length
      if (sinceTurn < AT_ONCE) continue
      sinceTurn = 0
      await turnOfTheLoop()
    }
    length += piece.length
  }
  return header(profile, crc, length)
}
