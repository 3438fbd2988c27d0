// The client's side of the shared buffer: creates and maps the buffer, reads its chunks, and frees them.
//
// This module provides the bytes of the file as a Uint32Array. `decode.ts` interprets the bytes, and `ring-reader.ts` determines the order
// of chunks. The file is either mapped through koffi, an optional dependency, or read with `readSync`. Client and target unlink the path as
// soon as they have opened the file, so this module does not use the path after opening.

import * as fs from 'node:fs'
import { createRequire } from 'node:module'
import { EX_CANTCREAT, EX_DATAERR, JfluidError } from '../base/errors.ts'
import { MAX_EPOCHS } from './event-halves.ts'
import { EVENT_BYTES } from './event-layout.ts'
import * as layout from './ring-layout.ts'
import { bufferBytes, treesBytes } from './tree-layout.ts'

/** Thrown if the buffer cannot be created: there is no space, or no permission for its directory. */
export class CannotCreateRing extends JfluidError {
  static sample = () =>
    new CannotCreateRing('/dev/shm/jfluid-1000-4711/ring', 16 << 20, {
      cause: Object.assign(new Error(), { code: 'ENOSPC' }),
    })
  readonly exitCode = EX_CANTCREAT
  readonly hint: string
  constructor(path: string, bytes: number, options: ErrorOptions) {
    const code = errorCode(options.cause)
    const full = code === 'ENOSPC' || code === 'EDQUOT'
    super(
      full
        ? `no room for the event buffer ${path} of ${Math.ceil(bytes / 2 ** 20)} MiB`
        : `cannot create the event buffer ${path}: ${code}`,
      options,
    )
    this.hint = full
      ? 'Free 16 MiB on that file system.'
      : 'Make the directory writable for the user that jfluid runs as.'
  }
}

/** Thrown if the file is not an event buffer of this version. */
export class ForeignRing extends JfluidError {
  static sample = () => new ForeignRing('/dev/shm/jfluid-1000-4711/ring', 'no JFR1 header')
  readonly exitCode = EX_DATAERR
  readonly hint = 'Attach again: jfluid creates this file for each session.'
  constructor(path: string, problem: string) {
    super(`${path} is not an event buffer of this version: ${problem}`)
  }
}

export interface RingOptions {
  /** Size of one chunk, a multiple of 4096. */
  chunkBytes?: number
  /** Number of chunks. Each thread inside a root needs one chunk. */
  chunkCount?: number
  /** Number of blocks for trees (tree-layout.ts), after the chunks. Undefined if threads keep no trees. */
  blockCount?: number
  /** Owner of the file, if the target runs as another user. */
  owner?: { readonly uid: number; readonly gid: number }
  /** Name of the file in messages, if users do not know its path. */
  name?: string
}

/**
 * Creates the file and writes every byte. On a full tmpfs, a store into a hole of a sparse file would
 * be an error inside the target. If the client writes every byte, the client reports the error.
 *
 * @returns size of the file in bytes
 */
export function createRing(path: string, options: RingOptions = {}): number {
  const { chunkBytes = 32768, chunkCount = 512, blockCount = 0, owner, name = path } = options
  if (chunkBytes <= 0 || chunkBytes % 4096 !== 0 || chunkCount < 1) {
    throw new RangeError(`createRing: ${chunkCount} chunks of ${chunkBytes} bytes`)
  }
  const bytes = layout.ringBytes(chunkBytes, chunkCount) + treesBytes(blockCount)
  let fd = -1
  try {
    fd = fs.openSync(
      path,
      fs.constants.O_RDWR | fs.constants.O_CREAT | fs.constants.O_EXCL | fs.constants.O_NOFOLLOW,
      0o600,
    )
    fs.fchmodSync(fd, 0o600)
    const zeros = new Uint8Array(Math.min(bytes, 2 ** 20))
    for (let at = 0; at < bytes; ) {
      at += fs.writeSync(fd, zeros, 0, Math.min(zeros.length, bytes - at), at)
    }
    // The file also gets space for blocks that the client may add later, since the target maps the whole file once.
    if (blockCount > 0) fs.ftruncateSync(fd, bufferBytes(chunkBytes, chunkCount, blockCount))
    const header = new DataView(new ArrayBuffer(layout.RING_BLOCKS + 4))
    header.setUint32(0, layout.RING_MAGIC, true)
    header.setUint32(layout.RING_CHUNK_BYTES, chunkBytes, true)
    header.setUint32(layout.RING_CHUNK_COUNT, chunkCount, true)
    header.setUint32(layout.RING_CHUNKS_OFFSET, layout.chunksOffset(chunkCount), true)
    header.setUint32(layout.RING_BLOCKS, blockCount, true)
    fs.writeSync(fd, header, 0, header.byteLength, 0)
    if (owner !== undefined) fs.fchownSync(fd, owner.uid, owner.gid)
  } catch (cause) {
    if (fd >= 0) fs.unlinkSync(path)
    throw new CannotCreateRing(name, bytes, { cause })
  } finally {
    if (fd >= 0) fs.closeSync(fd)
  }
  return bytes
}

/** A thread as identified in `/proc`. */
export interface RingReaderThread {
  readonly process: number
  readonly thread: number
  /** Start time of the thread in clock ticks since boot: field 22 in its file /proc/…/stat. */
  readonly since: number
}

/** Number of a view of a chunk's words. Several views may be in use at the same time. */
export type RingLevel = 0 | 1 | 2

/**
 * An open buffer. Chunks are numbered from 0; offsets inside a chunk are bytes from its start.
 * Each round begins with `refresh`; then states and headers may be read. Words are read in two steps, so that nothing is allocated: `look`
 * returns how far a chunk is written, then `words` and `origin` return the location of its bytes. There are three levels: 0; 1, used while
 * level 0 is in use; and 2 for chunks that are set aside while levels 0 and 1 are in use.
 */
export interface Ring {
  readonly chunkBytes: number
  readonly chunkCount: number
  /** Whether the file is mapped. Otherwise it is read and written through its descriptor. */
  readonly mapped: boolean
  /** Updates the view of header and states; the view is at least as new as this call. */
  refresh(): void
  /** Returns CHUNK_FREE, _BUSY, _IDLE or _FULL, at least as new as the last `refresh`. */
  state(chunk: number): number
  /**
   * Returns the writer that owns the chunk, or 0 if the writer has not signed it yet. `sequence` and `epoch` are valid once the
   * writer is nonzero.
   */
  writer(chunk: number): number
  sequence(chunk: number): number
  /** Returns the epoch, or -1 if it is too large for a tick. */
  epoch(chunk: number): number
  /**
   * Returns how far the chunk is written.
   *
   * @param from offset of an event; all earlier events have been read
   * @returns offset of the first zero word. All events before this offset are completely visible.
   */
  look(chunk: number, from: number, level: RingLevel): number
  /** Returns whether `look` returns the same offset for level 0 as for level 1. */
  isSettled(chunk: number): boolean
  /** Returns a number that changes when new data may have arrived; 0 if new data may arrive at any time. */
  age(): number
  /** Returns the words found by `look`: the chunk's offset `o` is element `origin(chunk, level) + o / 4`. */
  words(level: RingLevel): Uint32Array
  origin(chunk: number, level: RingLevel): number
  /** Zeroes the first `used` bytes, then marks the chunk FREE. The chunk must be FULL, or its writer must have a later chunk. */
  free(chunk: number, used: number): void
  /** Signals to waiting target threads that the client is alive. */
  beat(): void
  /** Records the thread that calls `beat`. If the heartbeat stops, the target can check whether that thread waits for a processor. */
  sign(reader: RingReaderThread): void
  /** Returns 0, or the reason why the target has stopped recording: ENDED_STOPPED, …. */
  ended(): number
  /** Returns how often a thread found no free chunk. */
  starving(): number
  /** Returns how often the target could not record something. */
  gaps(): number
  /** Unmaps and closes the buffer. No method may be called afterwards. */
  close(): void
}

/**
 * Opens a buffer that `createRing` made. The path may be unlinked once this function has returned.
 * A buffer of another user is read as a file, not mapped: that user may truncate it, and access to a truncated mapping would kill this
 * process.
 */
export function openRing(path: string): Ring {
  const fd = fs.openSync(path, fs.constants.O_RDWR | fs.constants.O_NOFOLLOW | fs.constants.O_NONBLOCK)
  try {
    const found = fs.fstatSync(fd)
    if (!found.isFile()) throw new ForeignRing(path, 'no file')
    const header = new Uint32Array(layout.RING_BLOCKS / 4 + 1)
    if (
      fs.readSync(fd, header, 0, header.byteLength, 0) < header.byteLength ||
      header[0] !== layout.RING_MAGIC
    )
      throw new ForeignRing(path, 'no JFR1 header')
    const chunkBytes = header[layout.RING_CHUNK_BYTES / 4]
    const chunkCount = header[layout.RING_CHUNK_COUNT / 4]
    const { size } = found
    const expected = bufferBytes(chunkBytes, chunkCount, header[layout.RING_BLOCKS / 4])
    if (chunkBytes === 0 || chunkBytes % 4096 !== 0 || size !== expected) {
      throw new ForeignRing(path, `${chunkCount} chunks of ${chunkBytes} bytes in ${size} bytes`)
    }
    const mayShrink = found.uid !== process.geteuid?.()
    const bytes = layout.ringBytes(chunkBytes, chunkCount) // trees are always read as a file
    const mapping = mayShrink || process.env.JFLUID_NO_MMAP === '1' ? undefined : map(fd, bytes)
    if (mapping === undefined) return new FileRing(fd, chunkBytes, chunkCount)
    fs.closeSync(fd)
    return new MappedRing(mapping, chunkBytes, chunkCount)
  } catch (error) {
    fs.closeSync(fd)
    throw error
  }
}

const HIGH = 1 // index of an event's high u32 half, which is never 0
const EVENT_WORDS = EVENT_BYTES / 4

/** A mapped buffer. The target's stores become visible without a read. */
class MappedRing implements Ring {
  readonly mapped = true
  readonly chunkBytes: number
  readonly chunkCount: number
  #mapping: Mapping
  #words: Uint32Array
  readonly #first: number

  constructor(mapping: Mapping, chunkBytes: number, chunkCount: number) {
    this.#mapping = mapping
    this.#words = new Uint32Array(mapping.buffer)
    this.chunkBytes = chunkBytes
    this.chunkCount = chunkCount
    this.#first = layout.chunksOffset(chunkCount) / 4
  }

  refresh(): void {}

  state(chunk: number): number {
    return Atomics.load(this.#words, layout.RING_STATES / 4 + chunk)
  }

  writer(chunk: number): number {
    return Atomics.load(this.#words, this.origin(chunk) + layout.CHUNK_WRITER / 4)
  }

  sequence(chunk: number): number {
    return this.#words[this.origin(chunk) + layout.CHUNK_SEQUENCE / 4]
  }

  epoch(chunk: number): number {
    const at = this.origin(chunk) + layout.CHUNK_EPOCH / 4
    return checkedEpoch(this.#words[at], this.#words[at + 1])
  }

  /**
   * A thread writes its events in order, each with release semantics. So all events before a visible event are visible, and a binary search
   * finds the last event. The search needs at most about two dozen atomic loads, even for large chunks.
   */
  look(chunk: number, from: number, _level: RingLevel): number {
    const words = this.#words
    const origin = this.origin(chunk)
    const limit = this.chunkBytes / EVENT_BYTES
    let known = from / EVENT_BYTES // all events before this index are written
    let zero = known // the event at this index may be unwritten
    for (let step = 1; zero < limit; step *= 2) {
      if (Atomics.load(words, origin + zero * EVENT_WORDS + HIGH) === 0) break
      known = zero + 1
      zero = Math.min(zero + step, limit)
    }
    while (known < zero) {
      const middle = (known + zero) >>> 1
      if (Atomics.load(words, origin + middle * EVENT_WORDS + HIGH) === 0) zero = middle
      else known = middle + 1
    }
    return known * EVENT_BYTES
  }

  isSettled(): boolean {
    return true
  }

  age(): number {
    return 0
  }

  words(_level: RingLevel): Uint32Array {
    return this.#words
  }

  origin(chunk: number, _level?: RingLevel): number {
    return this.#first + (chunk * this.chunkBytes) / 4
  }

  free(chunk: number, used: number): void {
    const origin = this.origin(chunk)
    this.#words.fill(0, origin, origin + used / 4)
    Atomics.store(this.#words, layout.RING_STATES / 4 + chunk, layout.CHUNK_FREE)
  }

  beat(): void {
    Atomics.add(this.#words, layout.RING_HEARTBEAT / 4, 1)
  }

  sign(reader: RingReaderThread): void {
    for (const [offset, value] of signature(reader)) Atomics.store(this.#words, offset / 4, value)
  }

  ended(): number {
    return Atomics.load(this.#words, layout.RING_ENDED / 4)
  }

  starving(): number {
    return Atomics.load(this.#words, layout.RING_STARVING / 4)
  }

  gaps(): number {
    return Atomics.load(this.#words, layout.RING_GAPS / 4)
  }

  close(): void {
    // An access to unmapped memory kills the process; an access to an empty array does not.
    this.#words = new Uint32Array(0)
    this.#mapping.unmap()
  }
}

/** A buffer that is read by copying. Reading takes a third longer than from a mapping, but needs no optional dependency. */
class FileRing implements Ring {
  readonly mapped = false
  readonly chunkBytes: number
  readonly chunkCount: number
  readonly #fd: number
  /** Copy of header and states. */
  readonly #head: Uint32Array
  readonly #signature = new Uint32Array(layout.CHUNK_EVENTS / 4)
  #signed = -1
  readonly #levels: readonly [Uint32Array, Uint32Array, Uint32Array]
  readonly #zeros: Uint8Array
  readonly #word = new Uint32Array(1)
  #heartbeat = 0

  constructor(fd: number, chunkBytes: number, chunkCount: number) {
    this.#fd = fd
    this.chunkBytes = chunkBytes
    this.chunkCount = chunkCount
    this.#head = new Uint32Array((layout.RING_STATES + chunkCount * 4) / 4)
    const level = () => new Uint32Array(chunkBytes / 4)
    this.#levels = [level(), level(), level()]
    this.#zeros = new Uint8Array(chunkBytes)
    this.refresh()
    this.#heartbeat = this.#head[layout.RING_HEARTBEAT / 4]
  }

  refresh(): void {
    readWhole(this.#fd, this.#head, 0, this.#head.byteLength, 0)
    this.#signed = -1
  }

  state(chunk: number): number {
    return this.#head[layout.RING_STATES / 4 + chunk]
  }

  writer(chunk: number): number {
    // The header is read twice. The second read is after the writer has stored its number (release), so it returns the whole header.
    this.#read(this.#signature, 0, chunk, 0, layout.CHUNK_EVENTS)
    if (this.#signature[layout.CHUNK_WRITER / 4] !== 0)
      this.#read(this.#signature, 0, chunk, 0, layout.CHUNK_EVENTS)
    this.#signed = chunk
    return this.#signature[layout.CHUNK_WRITER / 4]
  }

  sequence(chunk: number): number {
    if (this.#signed !== chunk) this.writer(chunk)
    return this.#signature[layout.CHUNK_SEQUENCE / 4]
  }

  epoch(chunk: number): number {
    if (this.#signed !== chunk) this.writer(chunk)
    return checkedEpoch(this.#signature[layout.CHUNK_EPOCH / 4], this.#signature[layout.CHUNK_EPOCH / 4 + 1])
  }

  /**
   * The copy is not atomic: only half of an event that is written at the same time may be copied. If either half is nonzero, the event has
   * been stored, so a second copy of the same range contains the whole event.
   */
  look(chunk: number, from: number, level: RingLevel): number {
    const words = this.#levels[level]
    this.#read(words, from, chunk, from, this.chunkBytes - from)
    let at = from / 4
    while (at < words.length && (words[at] | words[at + HIGH]) !== 0) at += EVENT_WORDS
    const end = at * 4
    if (end > from) this.#read(words, from, chunk, from, end - from)
    return end
  }

  isSettled(): boolean {
    return true
  }

  age(): number {
    return 0
  }

  words(level: RingLevel): Uint32Array {
    return this.#levels[level]
  }

  origin(): number {
    return 0
  }

  free(chunk: number, used: number): void {
    fs.writeSync(this.#fd, this.#zeros, 0, used, this.#offset(chunk))
    this.#store(layout.RING_STATES + chunk * 4, layout.CHUNK_FREE)
    this.#head[layout.RING_STATES / 4 + chunk] = layout.CHUNK_FREE
  }

  beat(): void {
    this.#heartbeat = (this.#heartbeat + 1) >>> 0
    this.#store(layout.RING_HEARTBEAT, this.#heartbeat)
  }

  sign(reader: RingReaderThread): void {
    for (const [offset, value] of signature(reader)) this.#store(offset, value)
  }

  ended(): number {
    return this.#head[layout.RING_ENDED / 4]
  }

  starving(): number {
    return this.#head[layout.RING_STARVING / 4]
  }

  gaps(): number {
    return this.#head[layout.RING_GAPS / 4]
  }

  close(): void {
    fs.closeSync(this.#fd)
  }

  #offset(chunk: number): number {
    return layout.chunksOffset(this.chunkCount) + chunk * this.chunkBytes
  }

  #read(into: Uint32Array, at: number, chunk: number, from: number, bytes: number): void {
    if (bytes > 0) readWhole(this.#fd, into, at, bytes, this.#offset(chunk) + from)
  }

  #store(offset: number, value: number): void {
    this.#word[0] = value
    fs.writeSync(this.#fd, this.#word, 0, 4, offset)
  }
}

/** Reads `bytes` bytes. If the file was truncated, the missing bytes are zero. */
function readWhole(fd: number, into: Uint32Array, at: number, bytes: number, from: number): void {
  const read = fs.readSync(fd, into, at, bytes, from)
  if (read < bytes) new Uint8Array(into.buffer, into.byteOffset + at + read, bytes - read).fill(0)
}

function signature(reader: RingReaderThread): [offset: number, value: number][] {
  return [
    [layout.RING_READER_THREAD, reader.thread],
    [layout.RING_READER_SINCE, reader.since >>> 0],
    [layout.RING_READER_PROCESS, reader.process], // written last: the target ignores the other fields until this field is set
  ]
}

/** Returns the epoch, or -1 if the epoch is too large. */
export function checkedEpoch(low: number, high: number): number {
  return high === 0 && low < MAX_EPOCHS ? low : -1
}

interface Mapping {
  readonly buffer: ArrayBuffer
  unmap(): void
}

const PROT_READ_WRITE = 3
const MAP_SHARED = 1

/** Maps the file with libc's mmap, or returns undefined if koffi is not installed. */
function map(fd: number, bytes: number): Mapping | undefined {
  const libc = loadLibc()
  if (libc === undefined) return undefined
  const address: unknown = libc.mmap(null, bytes, PROT_READ_WRITE, MAP_SHARED, fd, 0)
  // MAP_FAILED is -1.
  if (libc.koffi.address(address) === 0xffff_ffff_ffff_ffffn) return undefined
  const buffer = libc.koffi.view(address, bytes)
  return {
    buffer,
    unmap: () => {
      libc.munmap(address, bytes)
    },
  }
}

interface Libc {
  readonly koffi: typeof import('koffi')
  readonly mmap: (...args: unknown[]) => unknown
  readonly munmap: (...args: unknown[]) => unknown
}

let libc: Libc | undefined

function loadLibc(): Libc | undefined {
  if (libc !== undefined) return libc
  try {
    const koffi: typeof import('koffi') = createRequire(import.meta.url)('koffi')
    const library = koffi.load(null) // the libc that Node is linked with, glibc or musl
    libc = {
      koffi,
      mmap: library.func('void *mmap(void *, size_t, int, int, int, int64_t)'),
      munmap: library.func('int munmap(void *, size_t)'),
    }
  } catch {
    // koffi is not installed, or has no binary for this platform. The caller reads the file instead of mapping it.
  }
  return libc
}

function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error)
}
