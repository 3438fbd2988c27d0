// Reads the trees that threads of the target keep in the buffer (tree-layout.ts), and makes more room for them.
//
// What is read while threads write need not be of one moment: a count may be torn, and a record be there before its parent was looked
// at. Both are right at the next look, since a look adds the difference to what was seen before.

import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs'
import { enlarged } from '../base/enlarged.ts'
import { THREAD_NUMBER_BITS } from './event-layout.ts'
import { RING_BLOCKS, RING_CHUNK_BYTES, RING_CHUNK_COUNT, ringBytes } from './ring-layout.ts'
import {
  BLOCK_BYTES,
  BLOCK_FREE,
  BLOCK_OVER,
  BLOCK_STATES_BYTES,
  BLOCK_THREAD,
  MOST_BLOCKS,
  RECORD_BYTES,
  RECORD_CALLS,
  RECORD_EXECUTED,
  RECORD_METHOD,
  RECORD_PARENT,
} from './tree-layout.ts'
import type { TreeSink } from './tree-sink.ts'

const WORDS = BLOCK_BYTES / 4
const RECORDS = BLOCK_BYTES / RECORD_BYTES
const RECORD_WORDS = RECORD_BYTES / 4
const TWO_32 = 2 ** 32
/** Of the number of blocks, that there will be no more. */
const NO_MORE = 0x8000_0000
/** Blocks that are read at once. */
const AT_ONCE = 64
/** The method of a record above a thread's roots. */
const TOP = -1
/** In place of a context: the record above the roots. */
const ABOVE_ROOTS = -1

export class TreeBlocks {
  readonly #fd: number
  /** Of the states in the file. */
  readonly #at: number
  #count: number
  readonly #states = new Uint32Array(MOST_BLOCKS)
  #words = new Uint32Array(0)
  /** By record: its context, 0 for one that has not been placed; and its counts, as they were read last. */
  #contexts = new Int32Array(0)
  #calls = new Float64Array(0)
  #executed = new Float64Array(0)
  /** All that were read, but for those of roots: events tell of these. */
  calls = 0
  #mayGrow = true

  private constructor(fd: number) {
    this.#fd = fd
    const header = new Uint32Array(RING_BLOCKS / 4 + 1)
    readSync(fd, header, 0, header.byteLength, 0)
    this.#at = ringBytes(header[RING_CHUNK_BYTES / 4], header[RING_CHUNK_COUNT / 4])
    this.#count = header[RING_BLOCKS / 4]
  }

  /** Of a buffer that `createRing` made with blocks, and `openRing` has found to be one. The path may be unlinked once this returns. */
  static open(path: string): TreeBlocks {
    return new TreeBlocks(openSync(path, constants.O_RDWR | constants.O_NOFOLLOW | constants.O_NONBLOCK))
  }

  /** Looks at all records. Blocks of threads that have ended are given back. */
  read(sink: TreeSink): void {
    this.#look()
    const records = this.#count * RECORDS
    if (records > this.#contexts.length) {
      this.#contexts = enlarged(this.#contexts, records)
      this.#calls = enlarged(this.#calls, records)
      this.#executed = enlarged(this.#executed, records)
    }
    let free = 0
    for (let block = 0; block < this.#count; block++) {
      if (this.#states[block] === BLOCK_FREE) free++
      else this.#readBlock(block, sink)
    }
    this.#release()
    if (free < this.#count / 4) this.#grow() // before somebody waits
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

  close(): void {
    closeSync(this.#fd)
  }

  /** Copies states, and then the blocks that somebody has. */
  #look(): void {
    readWhole(this.#fd, this.#states, 0, this.#count * 4, this.#at)
    if (this.#words.length < this.#count * WORDS) this.#words = new Uint32Array(this.#count * WORDS)
    for (let block = 0; block < this.#count; ) {
      let end = block
      while (end < this.#count && end < block + AT_ONCE && this.#states[end] !== BLOCK_FREE) end++
      if (end > block)
        readWhole(this.#fd, this.#words, block * WORDS, (end - block) * BLOCK_BYTES, this.#blockAt(block))
      block = Math.max(end, block + 1)
    }
  }

  #readBlock(block: number, sink: TreeSink): void {
    const words = this.#words
    const thread = words[block * WORDS + BLOCK_THREAD / 4]
    if (thread === 0 || thread >= 2 ** THREAD_NUMBER_BITS) return // not signed yet, or not by a thread
    for (let i = 1; i < RECORDS; i++) {
      const record = block * RECORDS + i
      const at = record * RECORD_WORDS
      if (words[at + RECORD_METHOD / 4] === 0) return
      const calls = words[at + RECORD_CALLS / 4] + words[at + RECORD_CALLS / 4 + 1] * TWO_32
      const executed = words[at + RECORD_EXECUTED / 4] + words[at + RECORD_EXECUTED / 4 + 1] * TWO_32
      const [more, moreExecuted] = [calls - this.#calls[record], executed - this.#executed[record]]
      if (more === 0 && moreExecuted === 0) continue
      const context = this.#place(record, thread, sink)
      if (context <= 0) continue
      this.#calls[record] = calls
      this.#executed[record] = executed
      if (this.#contexts[words[at + RECORD_PARENT / 4]] !== ABOVE_ROOTS) this.calls += more
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
      const method = words[at * RECORD_WORDS + RECORD_METHOD / 4] | 0
      if (method === TOP) {
        this.#contexts[at] = context = ABOVE_ROOTS
        pending.pop()
        break
      }
      const parent = words[at * RECORD_WORDS + RECORD_PARENT / 4]
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
      const method = words[at * RECORD_WORDS + RECORD_METHOD / 4] | 0
      context = sink.contextOf(thread, Math.max(0, context), method)
      this.#contexts[at] = context
    }
    return context
  }

  /** Of a thread that has ended no block is kept: records of one have parents in another. */
  #release(): void {
    const words = this.#words
    const over: number[] = []
    const living = new Set<number>()
    for (let block = 0; block < this.#count; block++) {
      const state = this.#states[block]
      if (state === BLOCK_OVER) over.push(block)
      else if (state !== BLOCK_FREE) living.add(words[block * WORDS + BLOCK_THREAD / 4])
    }
    const zeros = new Uint8Array(over.length > 0 ? BLOCK_BYTES : 0)
    for (const block of over) {
      if (living.has(words[block * WORDS + BLOCK_THREAD / 4])) continue
      writeSync(this.#fd, zeros, 0, BLOCK_BYTES, this.#blockAt(block))
      // Its next owner may have records elsewhere before a look finds that it is taken.
      words.fill(0, block * WORDS, (block + 1) * WORDS)
      this.#contexts.fill(0, block * RECORDS, (block + 1) * RECORDS)
      this.#calls.fill(0, block * RECORDS, (block + 1) * RECORDS)
      this.#executed.fill(0, block * RECORDS, (block + 1) * RECORDS)
      this.#store(this.#at + block * 4, BLOCK_FREE)
    }
  }

  /** Half as many more. Written by us first: where there is no room for them, that is an error here, and not in the target. */
  #grow(): void {
    if (!this.#mayGrow) return
    const more = Math.min(Math.ceil(this.#count / 2), MOST_BLOCKS - this.#count)
    const zeros = new Uint8Array(more * BLOCK_BYTES)
    try {
      const at = this.#blockAt(this.#count)
      for (let done = 0; done < zeros.length; )
        done += writeSync(this.#fd, zeros, done, zeros.length - done, at + done)
      this.#count += more
      this.#mayGrow = this.#count < MOST_BLOCKS
    } catch {
      this.#mayGrow = false // threads that find no room say so: each such call of a root is a gap
    }
    this.#store(RING_BLOCKS, this.#mayGrow ? this.#count : (this.#count | NO_MORE) >>> 0)
  }

  #blockAt(block: number): number {
    return this.#at + BLOCK_STATES_BYTES + block * BLOCK_BYTES
  }

  #store(at: number, value: number): void {
    writeSync(this.#fd, Uint32Array.of(value), 0, 4, at)
  }
}

function readWhole(fd: number, into: Uint32Array, word: number, bytes: number, at: number): void {
  for (let done = 0; done < bytes; ) {
    const read = readSync(fd, into, word * 4 + done, bytes - done, at + done)
    if (read === 0) return // cut short by somebody: what is missing stays as it was
    done += read
  }
}
