// Reads the trees that threads of the target keep in the buffer (tree-layout.ts), and adds blocks when few blocks are free.
// The data are read while threads write, so they may be inconsistent: a count may be torn, or a record may be visible before its parent.
// The next scan corrects both errors, since each scan adds only the difference to the previous scan.

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
/** Flag in the header's number of blocks: no more blocks will be added. */
const NO_MORE = 0x8000_0000
/** Number of blocks read at once. */
const BLOCKS_PER_READ = 64
/** Method field of the record above a thread's roots. */
const TOP = -1
/** Value in `#contexts` for the record above the roots, which has no context. */
const ABOVE_ROOTS = -1
/** Maximum bytes per write, so that heartbeats are never delayed for long. */
const MAX_WRITE_BYTES = BLOCKS_PER_READ * layout.BLOCK_BYTES

/** Reported if a thread may have found no free block, and no more blocks will be added. */
export interface TreesFull {
  /** Number of contexts that fit into the blocks. */
  readonly contexts: number
  /** Error code of the failed enlargement of the file; null if the maximum number of blocks is reached. */
  readonly code: string | null
}

export class TreeBlocks {
  /** File offset of the states. */
  readonly #at: number
  #count: number
  readonly #states = new Uint32Array(layout.MAX_BLOCKS)
  /** States of blocks, read after the blocks were read. */
  readonly #laterStates = new Uint32Array(layout.MAX_BLOCKS)
  readonly #word = new Uint32Array(1)
  #words = new Uint32Array(0)
  /** Context of each record; 0 if it has none yet. The following arrays contain each record's counts in the last scan. */
  #contexts = new Int32Array(0)
  #calls = new Float64Array(0)
  #executed = new Float64Array(0)
  /** Total number of calls in the records. Root calls are excluded, since events report them. */
  calls = 0
  /** Number of blocks freed so far. */
  released = 0
  /** Null until a thread finds no block. */
  full: TreesFull | null = null
  #mayGrow = true
  #growError: string | null = null

  private constructor(private readonly fd: number) {
    const header = new Uint32Array(RING_BLOCKS / 4 + 1)
    readSync(fd, header, 0, header.byteLength, 0)
    this.#at = ringBytes(header[RING_CHUNK_BYTES / 4], header[RING_CHUNK_COUNT / 4])
    this.#count = header[RING_BLOCKS / 4]
  }

  /** Opens a buffer that `createRing` made with blocks and `openRing` has validated. The path may be unlinked after this call. */
  static open(path: string): TreeBlocks {
    return new TreeBlocks(openSync(path, constants.O_RDWR | constants.O_NOFOLLOW | constants.O_NONBLOCK))
  }

  /**
   * Scans all records. Frees the blocks of threads that have ended.
   *
   * @param alive  called every BLOCKS_PER_READ blocks: a scan of two million records takes longer than the heartbeat timeout of threads
   */
  read(sink: TreeSink, alive: () => void = () => {}): void {
    this.#copyBlocks(alive)
    const records = this.#count * RECORDS
    if (records > this.#contexts.length) {
      this.#contexts = enlarged(this.#contexts, records)
      this.#calls = enlarged(this.#calls, records)
      this.#executed = enlarged(this.#executed, records)
    }
    let free = 0
    for (let block = 0; block < this.#count; block++) {
      if (block % BLOCKS_PER_READ === 0) alive()
      if (this.#states[block] === layout.BLOCK_FREE) free++
      else this.#readBlock(block, sink)
    }
    const before = this.released
    this.#release(alive)
    const isShort = free < this.#count / 4 && !this.#grow(alive) // blocks are added before a thread finds none
    // Only this class frees blocks. If no block was free in this scan, a thread may have found none since the last scan.
    if (isShort && free + this.released - before === 0) {
      this.full = { contexts: this.#count * (RECORDS - 1), code: this.#growError }
    }
  }

  /** Renumbers the contexts. @param isPlace  returns whether a number stands for one context, and not for a row of collapsed contexts */
  moved(by: Int32Array, isPlace: (context: number) => boolean): void {
    const contexts = this.#contexts
    for (let i = 0; i < contexts.length; i++) {
      if (contexts[i] <= 0) continue
      const now = by[contexts[i]]
      contexts[i] = isPlace(now) ? now : 0
    }
  }

  /** Current number of blocks. */
  get blocks(): number {
    return this.#count
  }

  close(): void {
    closeSync(this.fd)
  }

  /** Copies the states, and then the blocks in use. */
  #copyBlocks(alive: () => void): void {
    readWhole(this.fd, this.#states, 0, this.#count * 4, this.#at)
    if (this.#words.length < this.#count * WORDS) this.#words = new Uint32Array(this.#count * WORDS)
    let aliveAt = 0
    for (let block = 0; block < this.#count; ) {
      if (block >= aliveAt) {
        alive()
        aliveAt = block + BLOCKS_PER_READ
      }
      let end = block
      while (end < this.#count && end < block + BLOCKS_PER_READ && this.#states[end] !== layout.BLOCK_FREE)
        end++
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
    if (thread === 0 || thread >= 2 ** THREAD_NUMBER_BITS) return // the owner has not stored its number yet, or the number is invalid
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

  /** Returns the context of a record; 0 if the record of one of its callers was not visible yet. */
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
   * Frees all blocks of an ended thread together, since records in one block have parents in another block. The states of the first
   * copy were not read at one moment: the thread's last block may be FREE in the copy while another of its blocks is OVER. The states are
   * therefore read again: a thread with a block that was OVER in the first copy takes no more blocks after the first copy.
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
      if (i % BLOCKS_PER_READ === 0) alive()
      if (notReadYet.has(words[block * WORDS + layout.BLOCK_THREAD / 4])) continue
      writeSync(this.fd, zeros, 0, layout.BLOCK_BYTES, this.#blockAt(block))
      // The words are cleared here, since the block's next owner may write records before a scan finds the block in state TAKEN.
      words.fill(0, block * WORDS, (block + 1) * WORDS)
      this.#contexts.fill(0, block * RECORDS, (block + 1) * RECORDS)
      this.#calls.fill(0, block * RECORDS, (block + 1) * RECORDS)
      this.#executed.fill(0, block * RECORDS, (block + 1) * RECORDS)
      this.#store(this.#at + block * 4, layout.BLOCK_FREE)
      this.released++
    }
  }

  /**
   * Increases the number of blocks by half. The client writes the new blocks first: if there is no space, the error occurs in the client
   * and not in the target.
   *
   * @returns whether blocks were added
   */
  #grow(alive: () => void): boolean {
    if (!this.#mayGrow) return false
    const more = Math.min(Math.ceil(this.#count / 2), layout.MAX_BLOCKS - this.#count)
    const bytes = more * layout.BLOCK_BYTES
    const zeros = new Uint8Array(Math.min(bytes, MAX_WRITE_BYTES))
    try {
      const at = this.#blockAt(this.#count)
      for (let done = 0; done < bytes; ) {
        alive()
        done += writeSync(this.fd, zeros, 0, Math.min(zeros.length, bytes - done), at + done)
      }
      this.#count += more
      this.#mayGrow = this.#count < layout.MAX_BLOCKS
    } catch (error) {
      this.#mayGrow = false // each root call of a thread without a block is reported as a gap
      this.#growError = error instanceof Error && 'code' in error ? String(error.code) : String(error)
    }
    this.#store(RING_BLOCKS, this.#mayGrow ? this.#count : (this.#count | NO_MORE) >>> 0)
    return this.#growError === null
  }

  /** Returns the block's current thread, read from the file. */
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
    if (read === 0) return // the file was truncated: the missing part keeps its previous contents
    done += read
  }
}
