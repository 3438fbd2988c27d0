// The shared buffer as the client holds it: created, mapped, read, and handed back chunk by chunk.
//
// This module knows how bytes get from the file into a Uint32Array, and nothing of what they mean
// (decode.ts) or in which order chunks must be read (ring-reader.ts). There are two ways: the file
// is mapped through koffi, an optional dependency, or it is read with `readSync`. Both sides unlink
// the path as soon as they hold the file, so nothing here uses the path after opening.

import * as fs from 'node:fs'
import { createRequire } from 'node:module'
import { EX_CANTCREAT, EX_DATAERR, JfluidError } from '../base/errors.ts'
import { MOST_EPOCHS } from './event-halves.ts'
import { EVENT_BYTES } from './event-layout.ts'
import * as layout from './ring-layout.ts'
import { bufferBytes, treesBytes } from './tree-layout.ts'

/** The buffer cannot be made: no room for it, or no right to put it there. */
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
        ? `no room for the ${Math.ceil(bytes / 2 ** 20)} MiB event buffer ${path}`
        : `cannot create the event buffer ${path}: ${code}`,
      options,
    )
    this.hint = full
      ? 'Free some space on that file system: jfluid needs 16 MiB there.'
      : 'Make the directory writable for the user jfluid runs as.'
  }
}

/** The file is no event buffer of this version. */
export class ForeignRing extends JfluidError {
  static sample = () => new ForeignRing('/dev/shm/jfluid-1000-4711/ring', 'no JFR1 header')
  readonly exitCode = EX_DATAERR
  readonly hint = 'Start the session again; the client makes this file by itself.'
  constructor(path: string, problem: string) {
    super(`${path} is not an event buffer of this version: ${problem}`)
  }
}

export interface RingOptions {
  /** Size of one chunk, a multiple of 4096. */
  chunkBytes?: number
  /** A thread inside a root needs one. */
  chunkCount?: number
  /** Blocks of trees (tree-layout.ts), behind the chunks. None unless given: there are no trees. */
  blockCount?: number
  /** Who may open the file, when the target runs as another user. */
  owner?: { readonly uid: number; readonly gid: number }
  /** How a problem calls the file, where the path is one that only we have. */
  name?: string
}

/**
 * Makes the file, with every byte written: a store into a hole of a sparse file on a full tmpfs
 * would surface as an error inside the target, and here it is only a message.
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
    // The target maps room for the blocks that may be written later.
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

/** A thread as `/proc` knows it. */
export interface RingReaderThread {
  readonly process: number
  readonly thread: number
  /** Clock ticks since boot: field 22 of its stat. */
  readonly since: number
}

/** Looks that may be in use at once. */
export type RingLevel = 0 | 1 | 2

/**
 * An open buffer. Chunks are numbered from 0; offsets inside a chunk are bytes from its start.
 *
 * `refresh` comes first in every round, then states and headers may be asked for. Words are read in
 * two steps, so that nothing is allocated: `look` says how far a chunk is written, then `words` and
 * `origin` say where its bytes lie. Three levels can be looked at at once: 0, 1 while 0 is in use, and 2 for what is set aside meanwhile.
 */
export interface Ring {
  readonly chunkBytes: number
  readonly chunkCount: number
  /** Whether the file is mapped; if not it is read and written through its descriptor. */
  readonly mapped: boolean
  /** Takes a view of header and states that is at least as new as this call. */
  refresh(): void
  /** CHUNK_FREE, _BUSY, _IDLE or _FULL, at least as new as the last `refresh`. */
  state(chunk: number): number
  /** Who took the chunk; 0: it has not signed yet. The other two are valid once this is not 0. */
  writer(chunk: number): number
  sequence(chunk: number): number
  /** The epoch, or -1 when it is beyond what a tick can hold. */
  epoch(chunk: number): number
  /**
   * How far the chunk is written.
   *
   * @param from offset of an event; everything before it has been read
   * @returns offset after the last event before the first zero word. All events between are visible
   *          as a whole from now on.
   */
  look(chunk: number, from: number, level: RingLevel): number
  /** Whether level 0 sees all that level 1 does. */
  isSettled(chunk: number): boolean
  /** Another number as soon as there may be something new; 0: always. */
  age(): number
  /** What `look` saw: the chunk's offset `o` is element `origin(chunk, level) + o / 4`. */
  words(level: RingLevel): Uint32Array
  origin(chunk: number, level: RingLevel): number
  /** Zeroes the first `used` bytes, then gives the chunk back as FREE. Only for FULL ones, and those that their writer has left for a later one. */
  free(chunk: number, used: number): void
  /** Tells waiting target threads that the client lives. */
  beat(): void
  /** Says whose heart beats: where it stands still, the target can see whether that thread wants a processor. */
  sign(reader: RingReaderThread): void
  /** 0, or why the target has stopped recording by itself: ENDED_STOPPED and its like. */
  ended(): number
  /** How often a thread found no free chunk. */
  starving(): number
  /** How often the target could not record something. */
  gaps(): number
  /** Unmaps and closes. Nothing may be called afterwards. */
  close(): void
}

/**
 * Opens a buffer that `createRing` made. The path may be unlinked once this returns.
 *
 * One that belongs to another user is read as a file: that user may make it shorter, and an access to what is no longer there would end us.
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
    const bytes = layout.ringBytes(chunkBytes, chunkCount) // trees are read as a file
    const mapping = mayShrink || process.env.JFLUID_NO_MMAP === '1' ? undefined : map(fd, bytes)
    if (mapping === undefined) return new FileRing(fd, chunkBytes, chunkCount)
    fs.closeSync(fd)
    return new MappedRing(mapping, chunkBytes, chunkCount)
  } catch (error) {
    fs.closeSync(fd)
    throw error
  }
}

const HIGH = 1 // of an event's two u32 halves; it carries the kind, so it is never 0
const EVENT_WORDS = EVENT_BYTES / 4

/** The target's stores become visible here by themselves. */
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
   * A thread writes its events in order, each with release: so all that is before a visible event is
   * visible, and the end can be searched for. Two dozen atomic loads, however long the chunk is.
   */
  look(chunk: number, from: number, _level: RingLevel): number {
    const words = this.#words
    const origin = this.origin(chunk)
    const limit = this.chunkBytes / EVENT_BYTES
    let known = from / EVENT_BYTES // everything before it is written
    let zero = known // not known to be written
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

/** Every look is a copy. One third slower to read than a mapping, and needs nothing but Node. */
class FileRing implements Ring {
  readonly mapped = false
  readonly chunkBytes: number
  readonly chunkCount: number
  readonly #fd: number
  /** Header and states. */
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
    // Twice: the second read follows the writer's release of its number, and so sees all of it.
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
   * The copy is not atomic: an event that was written meanwhile can be torn. Whatever was seen of it
   * shows that it is there, so a second copy of the same range has it whole.
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

/** What lies beyond the end of a file that has become shorter is nothing. */
function readWhole(fd: number, into: Uint32Array, at: number, bytes: number, from: number): void {
  const read = fs.readSync(fd, into, at, bytes, from)
  if (read < bytes) new Uint8Array(into.buffer, into.byteOffset + at + read, bytes - read).fill(0)
}

function signature(reader: RingReaderThread): [offset: number, value: number][] {
  return [
    [layout.RING_READER_THREAD, reader.thread],
    [layout.RING_READER_SINCE, reader.since >>> 0],
    [layout.RING_READER_PROCESS, reader.process], // last: without it the others mean nothing
  ]
}

/** -1 for what is none. */
export function checkedEpoch(low: number, high: number): number {
  return high === 0 && low < MOST_EPOCHS ? low : -1
}

interface Mapping {
  readonly buffer: ArrayBuffer
  unmap(): void
}

const PROT_READ_WRITE = 3
const MAP_SHARED = 1

/** Maps the file with libc's mmap, or returns undefined where koffi is not installed. */
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
    const library = koffi.load(null) // what Node itself is linked with, glibc or musl
    libc = {
      koffi,
      mmap: library.func('void *mmap(void *, size_t, int, int, int, int64_t)'),
      munmap: library.func('int munmap(void *, size_t)'),
    }
  } catch {
    // Not installed, or no binary for this platform: the caller reads the file instead.
  }
  return libc
}

function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error)
}
