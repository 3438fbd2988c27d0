// A target in TypeScript: threads that write into the buffer like JFluid1.java and JFluid1Ring.java, one store at a
// time, so that a test can insert any action between two stores.
//
// Each method that stores is a generator that yields after each store. The code that drives the generator decides what
// happens next. The stores go through a separate descriptor, so the generator sees the data that another process would see.

import { closeSync, openSync, readSync, writeSync } from 'node:fs'
import {
  CONTROL_ADJUST,
  CONTROL_EPOCH,
  CONTROL_ROOT,
  CONTROL_THREAD,
  EVENT_BYTES,
  KIND_CATCH,
  KIND_CONTROL,
  KIND_ENTER,
  KIND_EXIT,
  METHOD_BITS,
  THREAD_NUMBER_BITS,
  TICK_BITS,
} from '../../src/events/event-layout.ts'
import {
  CHUNK_BUSY,
  CHUNK_EPOCH,
  CHUNK_EVENTS,
  CHUNK_FREE,
  CHUNK_FULL,
  CHUNK_IDLE,
  CHUNK_SEQUENCE,
  CHUNK_WRITER,
  chunksOffset,
  RING_ENDED,
  RING_HEARTBEAT,
  RING_READER_PROCESS,
  RING_READER_SINCE,
  RING_READER_THREAD,
  RING_STARVING,
  RING_STATES,
} from '../../src/events/ring-layout.ts'

export type Steps = Generator<undefined, void, unknown>

/** Returns the two halves of an event, low first. */
export function word(kind: number, field: number, low40: number): [number, number] {
  const high = kind * 2 ** 30 + field * 2 ** (TICK_BITS - 32) + Math.floor(low40 / 2 ** 32)
  return [low40 % 2 ** 32, high]
}

export const enterWord = (method: number, ticks: number) => word(KIND_ENTER, method, ticks % 2 ** TICK_BITS)
export const exitWord = (method: number, ticks: number) => word(KIND_EXIT, method, ticks % 2 ** TICK_BITS)
export const catchWord = (method: number, ticks: number) => word(KIND_CATCH, method, ticks % 2 ** TICK_BITS)
export const controlWord = (code: number, payload = 0) => word(KIND_CONTROL, code, payload)
export const threadWord = (number: number, segment: number) =>
  controlWord(CONTROL_THREAD, segment * 2 ** THREAD_NUMBER_BITS + number)

if (METHOD_BITS + TICK_BITS !== 62) throw new Error('an event has 62 bits below its kind')

/** The memory that both sides share. */
export class FakeTarget {
  readonly #fd: number
  readonly chunkBytes: number
  readonly chunkCount: number
  readonly #word = new Uint32Array(1)
  readonly #words = new Uint32Array(4)

  constructor(path: string, chunkBytes: number, chunkCount: number) {
    this.#fd = openSync(path, 'r+')
    this.chunkBytes = chunkBytes
    this.chunkCount = chunkCount
  }

  load(offset: number): number {
    readSync(this.#fd, this.#word, 0, 4, offset)
    return this.#word[0]
  }

  store(offset: number, ...values: number[]): void {
    const words = values.length <= this.#words.length ? this.#words : new Uint32Array(values.length)
    words.set(values)
    writeSync(this.#fd, words, 0, values.length * 4, offset)
  }

  state(chunk: number): number {
    return this.load(RING_STATES + chunk * 4)
  }

  setState(chunk: number, state: number): void {
    this.store(RING_STATES + chunk * 4, state)
  }

  offset(chunk: number): number {
    return chunksOffset(this.chunkCount) + chunk * this.chunkBytes
  }

  /** Writes a complete chunk, as a writer leaves it. */
  put(
    chunk: number,
    state: number,
    writer: number,
    sequence: number,
    words: [number, number][],
    epoch = 0,
  ): void {
    this.store(this.offset(chunk) + CHUNK_EVENTS, ...words.flat())
    this.store(this.offset(chunk), writer, sequence, epoch, 0)
    this.setState(chunk, state)
  }

  heartbeat(): number {
    return this.load(RING_HEARTBEAT)
  }

  /** Returns the reader stored in the header: process id, thread id and start time. */
  reader(): [number, number, number] {
    return [this.load(RING_READER_PROCESS), this.load(RING_READER_THREAD), this.load(RING_READER_SINCE)]
  }

  end(): void {
    this.store(RING_ENDED, 1)
  }

  /** Acts like the agent when chunks are scarce. */
  reclaim(): void {
    for (let chunk = 0; chunk < this.chunkCount; chunk++) {
      if (this.state(chunk) === CHUNK_IDLE) this.setState(chunk, CHUNK_FULL)
    }
  }

  close(): void {
    closeSync(this.#fd)
  }
}

/** A thread that owns events: a platform thread or a virtual thread. */
export class FakeThread {
  readonly number: number
  segment = 0
  /** Calls of this thread in order. A reader must reproduce them. */
  readonly done: string[] = []
  readonly stack: number[] = []
  /** Writer of the thread's latest segment. */
  writer: FakeWriter | undefined

  constructor(number: number) {
    this.number = number
  }
}

/** A platform thread and its chunk. */
export class FakeWriter {
  readonly self: FakeThread
  readonly #target: FakeTarget
  #chunk = -1
  #next = 0
  #limit = 0
  #sequence = 0
  #epoch = 0
  #lastThread = 0

  constructor(target: FakeTarget, number: number) {
    this.#target = target
    this.self = new FakeThread(number)
  }

  /** Writes an event of `thread`, which runs on this writer now. */
  *event(thread: FakeThread, kind: number, method: number, ticks: number): Steps {
    yield* this.#room(thread, 5)
    yield* this.#switchTo(thread)
    const epoch = Math.floor(ticks / 2 ** TICK_BITS)
    if (epoch !== this.#epoch) {
      this.#epoch = epoch
      yield* this.#put(controlWord(CONTROL_EPOCH, epoch))
    }
    yield* this.#put(word(kind, method, ticks % 2 ** TICK_BITS))
    thread.done.push(`${kind === KIND_ENTER ? 'enter' : 'exit'} ${method} ${ticks}`)
  }

  *root(thread: FakeThread): Steps {
    yield* this.#room(thread, 4)
    yield* this.#switchTo(thread)
    yield* this.#put(controlWord(CONTROL_ROOT))
    thread.done.push('root')
  }

  /** Leaves all roots. From now on other threads may take the chunk. */
  *rest(): Steps {
    if (this.#chunk >= 0) this.#target.setState(this.#chunk, CHUNK_IDLE)
    yield
  }

  /** Prepares for a root: claims the chunk again, if the chunk still belongs to this thread. */
  *wake(): Steps {
    if (this.#chunk < 0) return
    const at = this.#target.offset(this.#chunk)
    const mine =
      this.#target.state(this.#chunk) === CHUNK_IDLE &&
      this.#target.load(at + CHUNK_WRITER) === this.self.number &&
      this.#target.load(at + CHUNK_SEQUENCE) === this.#sequence - 1
    if (mine) this.#target.setState(this.#chunk, CHUNK_BUSY)
    else this.#lose()
    yield
  }

  *#switchTo(thread: FakeThread): Steps {
    if (this.#lastThread === thread.number && thread.writer === this) return
    this.#lastThread = thread.number
    thread.writer = this
    yield* this.#put(threadWord(thread.number, thread.segment++ % 2 ** 16))
  }

  *#room(thread: FakeThread, words: number): Steps {
    if (this.#next + words * EVENT_BYTES <= this.#limit) return
    if (this.#chunk >= 0) {
      const full = this.#chunk
      this.#lose()
      this.#target.setState(full, CHUNK_FULL)
      yield
    }
    for (let waited = false; !(yield* this.#claim()); waited = true) {
      if (!waited) this.#target.store(RING_STARVING, this.#target.load(RING_STARVING) + 1)
      yield
    }
    if (thread !== this.self) yield* this.#switchTo(thread)
    yield* this.#put(controlWord(CONTROL_ADJUST, 3))
    thread.done.push('adjust 3')
  }

  *#claim(): Generator<undefined, boolean, unknown> {
    for (let chunk = 0; chunk < this.#target.chunkCount; chunk++) {
      if (this.#target.state(chunk) !== CHUNK_FREE) continue
      this.#target.setState(chunk, CHUNK_BUSY)
      yield
      const at = this.#target.offset(chunk)
      this.#target.store(at + CHUNK_SEQUENCE, this.#sequence++)
      yield
      this.#target.store(at + CHUNK_EPOCH, this.#epoch, 0)
      yield
      this.#target.store(at + CHUNK_WRITER, this.self.number)
      yield
      this.#lastThread = this.self.number
      this.self.writer = this
      this.#chunk = chunk
      this.#next = at + CHUNK_EVENTS
      this.#limit = at + this.#target.chunkBytes
      return true
    }
    return false
  }

  #lose(): void {
    this.#chunk = -1
    this.#next = this.#limit = 0
  }

  *#put(event: [number, number]): Steps {
    this.#target.store(this.#next, ...event)
    this.#next += EVENT_BYTES
    yield
  }
}
