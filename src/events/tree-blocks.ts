// Reads the trees that threads of the target keep in the buffer (tree-layout.ts), and makes more room for them.
//
// What is read while threads write need not be of one moment: a count may be torn, and a record be there before its parent was looked
// at. Both are right at the next look, since a look adds the difference to what was seen before.

import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs'
import { enlarged } from '../base/enlarged.ts'
import { THREAD_NUMBER_BITS } from './event-layout.ts'
import { RING_BLOCKS, RING_CHUNK_BYTES, RING_CHUNK_COUNT, ringBytes } from './ring-layout.ts'
import * as layout from './tree-layout.ts'
import type { TreeSink } from './tree-sink.ts'

const WORDS = layout.BLOCK_BYTES / 4
const RECORDS = layout.BLOCK_BYTES / layout.RECORD_BYTES
const RECORD_WORDS = layout.RECORD_BYTES / 4
const TWO_32 = 2 ** 32
/** Of the number of blocks, that there will be no more. */
const NO_MORE = 0x8000_0000
/** Blocks that are read at once. */
const AT_ONCE = 64
/** The method of a record above a thread's roots. */
const TOP = -1
/** In place of a context: the record above the roots. */
const ABOVE_ROOTS = -1
/** Nothing that it writes is larger, so that a heartbeat is never far. */
const MOST_WRITTEN = AT_ONCE * layout.BLOCK_BYTES

/** Threads have found no block, and there will be no more. */
export interface TreesFull {
  /** How many they have room for. */
  readonly contexts: number
  /** Of the error that the file met when it was to grow; null where there are as many blocks as there may be. */
  readonly code: string | null
}

export class TreeBlocks {
  /** Of the states in the file. */
  readonly #at: number
  #count: number
  readonly #states = new Uint32Array(layout.MOST_BLOCKS)
  /** The same, after blocks have been read. */
  readonly #laterStates = new Uint32Array(layout.MOST_BLOCKS)
  readonly #word = new Uint32Array(1)
  #words = new Uint32Array(0)
  /** By record: its context, 0 for one that has not been placed; and its counts, as they were read last. */
  #contexts = new Int32Array(0)
  #calls = new Float64Array(0)
  #executed = new Float64Array(0)
  /** All that were read, but for those of roots: events tell of these. */
  calls = 0
  /** How often a block was given back. */
  released = 0
  /** Null as long as no thread has gone without a block. */
  full: TreesFull | null = null
  #mayGrow = true
  #growError: string | null = null

  private constructor(private readonly fd: number) {
    const header = new Uint32Array(RING_BLOCKS / 4 + 1)
    readSync(fd, header, 0, header.byteLength, 0)
    this.#at = ringBytes(header[RING_CHUNK_BYTES / 4], header[RING_CHUNK_COUNT / 4])
    this.#count = header[RING_BLOCKS / 4]
  }

  /** Of a buffer that `createRing` made with blocks, and `openRing` has found to be one. The path may be unlinked once this returns. */
  static open(path: string): TreeBlocks {
    return new TreeBlocks(openSync(path, constants.O_RDWR | constants.O_NOFOLLOW | constants.O_NONBLOCK))
  }

  /**
   * Looks at all records. Blocks of threads that have ended are given back.
   *
   * @param alive  called every AT_ONCE blocks: a look at two million records takes longer than a thread waits for a heartbeat
   */
  read(sink: TreeSink, alive: () => void = () => {}): void {
    this.#look(alive)
    const records = this.#count * RECORDS
    if (records > this.#contexts.length) {
      this.#contexts = enlarged(this.#contexts, records)
      this.#calls = enlarged(this.#calls, records)
      this.#executed = enlarged(this.#executed, records)
    }
    let free = 0
    for (let block = 0; block < this.#count; block++) {
      if (block % AT_ONCE === 0) alive()
      if (this.#states[block] === layout.BLOCK_FREE) free++
      else this.#readBlock(block, sink)
    }
    const before = this.released
    this.#release(alive)
    const isShort = free < this.#count / 4 && !this.#grow(alive) // before a thread waits
    // Only this class frees blocks: a thread that has found none since the look before is seen here.
    if (isShort && free + this.released - before === 0) {
      this.full = { contexts: this.#count * (RECORDS - 1), code: this.#growError }
    }
  }

  /** Contexts have other numbers. @param isPlace  whether the number that it has now is its own, and not that of a row of many */
  moved(by: Int32Array, isPlace: (context: number) => boolean): void {
    const contexts = this.#contexts
    for (let i = 0; i < contexts.length; i++) {
      if (contexts[i] <= 0) continue
      const now = by[contexts[i]]
      contexts[i] = isPlace(now) ? now : 0
    }
  }

  /** How many there are now. */
  get blocks(): number {
    return this.#count
  }

  close(): void {
    closeSync(this.fd)
  }

  /** Copies states, and then the blocks that somebody has. */
  #look(alive: () => void): void {
    readWhole(this.fd, this.#states, 0, this.#count * 4, this.#at)
    if (this.#words.length < this.#count * WORDS) this.#words = new Uint32Array(this.#count * WORDS)
    let aliveAt = 0
    for (let block = 0; block < this.#count; ) {
      if (block >= aliveAt) {
        alive()
        aliveAt = block + AT_ONCE
      }
      let end = block
      while (end < this.#count && end < block + AT_ONCE && this.#states[end] !== layout.BLOCK_FREE) end++
      if (end > block)
        readWhole(
          this.fd,
          this.#words,
          block * WORDS,
          (end - block) * layout.BLOCK_BYTES,
          this.#blockAt(block),
        )
      block = Math.max(end, block + 1)
    }
  }

  #readBlock(block: number, sink: TreeSink): void {
    const words = this.#words
    const thread = words[block * WORDS + layout.BLOCK_THREAD / 4]
    if (thread === 0 || thread >= 2 ** THREAD_NUMBER_BITS) return // not signed yet, or not by a thread
    for (let i = 1; i < RECORDS; i++) {
      const record = block * RECORDS + i
      const at = record * RECORD_WORDS
      if (words[at + layout.RECORD_METHOD / 4] === 0) return
      const calls = words[at + layout.RECORD_CALLS / 4] + words[at + layout.RECORD_CALLS / 4 + 1] * TWO_32
      const executed =
        words[at + layout.RECORD_EXECUTED / 4] + words[at + layout.RECORD_EXECUTED / 4 + 1] * TWO_32
      const [more, moreExecuted] = [calls - this.#calls[record], executed - this.#executed[record]]
      if (more === 0 && moreExecuted === 0) continue
      const context = this.#place(record, thread, sink)
      if (context <= 0) continue
      this.#calls[record] = calls
      this.#executed[record] = executed
      if (this.#contexts[words[at + layout.RECORD_PARENT / 4]] !== ABOVE_ROOTS) this.calls += more
      sink.addTo(thread, context, more, moreExecuted)
    }
  }

  /** @returns 0 if a record above it was not there yet when it was looked at */
  #place(record: number, thread: number, sink: TreeSink): number {
    const known = this.#contexts[record]
    if (known !== 0) return known
    const words = this.#words
    const pending: number[] = []
    let context = 0
    for (let at = record; context === 0; ) {
      pending.push(at)
      const method = words[at * RECORD_WORDS + layout.RECORD_METHOD / 4] | 0
      if (method === TOP) {
        this.#contexts[at] = context = ABOVE_ROOTS
        pending.pop()
        break
      }
      const parent = words[at * RECORD_WORDS + layout.RECORD_PARENT / 4]
      if (
        method <= 0 ||
        parent === 0 ||
        parent >= this.#contexts.length ||
        pending.length > this.#contexts.length
      )
        return 0
      context = this.#contexts[parent]
      at = parent
    }
    for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
      const method = words[at * RECORD_WORDS + layout.RECORD_METHOD / 4] | 0
      context = sink.contextOf(thread, Math.max(0, context), method)
      this.#contexts[at] = context
    }
    return context
  }

  /**
   * Of a thread that has ended all blocks are given back at once: records of one have parents in another. Its last block may be free in
   * the copy of the states, which is not of one moment, while another one is over there. So states are read again: a thread with a block
   * that was over in the first copy has taken all of its blocks by now.
   */
  #release(alive: () => void): void {
    const words = this.#words
    const over: number[] = []
    for (let block = 0; block < this.#count; block++)
      if (this.#states[block] === layout.BLOCK_OVER) over.push(block)
    if (over.length === 0) return
    readWhole(this.fd, this.#laterStates, 0, this.#count * 4, this.#at)
    const notReadYet = new Set<number>()
    for (let block = 0; block < this.#count; block++) {
      const state = this.#states[block]
      if (state === layout.BLOCK_FREE && this.#laterStates[block] !== layout.BLOCK_FREE)
        notReadYet.add(this.#threadOf(block))
      else if (state !== layout.BLOCK_FREE && state !== layout.BLOCK_OVER)
        notReadYet.add(words[block * WORDS + layout.BLOCK_THREAD / 4])
    }
    const zeros = new Uint8Array(layout.BLOCK_BYTES)
    for (const [i, block] of over.entries()) {
      if (i % AT_ONCE === 0) alive()
      if (notReadYet.has(words[block * WORDS + layout.BLOCK_THREAD / 4])) continue
      writeSync(this.fd, zeros, 0, layout.BLOCK_BYTES, this.#blockAt(block))
      // Its next owner may have records elsewhere before a look finds that it is taken.
      words.fill(0, block * WORDS, (block + 1) * WORDS)
      this.#contexts.fill(0, block * RECORDS, (block + 1) * RECORDS)
      this.#calls.fill(0, block * RECORDS, (block + 1) * RECORDS)
      this.#executed.fill(0, block * RECORDS, (block + 1) * RECORDS)
      this.#store(this.#at + block * 4, layout.BLOCK_FREE)
      this.released++
    }
  }

  /**
   * Half as many more. Written by us first: where there is no room for them, that is an error here, and not in the target.
   *
   * @returns whether there are more
   */
  #grow(alive: () => void): boolean {
    if (!this.#mayGrow) return false
    const more = Math.min(Math.ceil(this.#count / 2), layout.MOST_BLOCKS - this.#count)
    const bytes = more * layout.BLOCK_BYTES
    const zeros = new Uint8Array(Math.min(bytes, MOST_WRITTEN))
    try {
      const at = this.#blockAt(this.#count)
      for (let done = 0; done < bytes; ) {
        alive()
        done += writeSync(this.fd, zeros, 0, Math.min(zeros.length, bytes - done), at + done)
      }
      this.#count += more
      this.#mayGrow = this.#count < layout.MOST_BLOCKS
    } catch (error) {
      this.#mayGrow = false // threads that find no room say so: each such call of a root is a gap
      this.#growError = error instanceof Error && 'code' in error ? String(error.code) : String(error)
    }
    this.#store(RING_BLOCKS, this.#mayGrow ? this.#count : (this.#count | NO_MORE) >>> 0)
    return this.#growError === null
  }

  /** As it is in the file now. */
  #threadOf(block: number): number {
    this.#word[0] = 0
    readWhole(this.fd, this.#word, 0, 4, this.#blockAt(block) + layout.BLOCK_THREAD)
    return this.#word[0]
  }

  #blockAt(block: number): number {
    return this.#at + layout.BLOCK_STATES_BYTES + block * layout.BLOCK_BYTES
  }

  #store(at: number, value: number): void {
    writeSync(this.fd, Uint32Array.of(value), 0, 4, at)
  }
}

function readWhole(fd: number, into: Uint32Array, word: number, bytes: number, at: number): void {
  for (let done = 0; done < bytes; ) {
    const read = readSync(fd, into, word * 4 + done, bytes - done, at + done)
    if (read === 0) return // cut short by somebody: what is missing stays as it was
    done += read
  }
}
