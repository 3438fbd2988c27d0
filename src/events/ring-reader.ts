// Follows every owned chunk of the buffer up to its first zero word, and gives full ones back.
//
// This module owns the order in which events reach the sink:
//
// - A writer's chunks are read by `sequence`, each to its end before the next. The state table is
//   read once a round and is only a snapshot: a later chunk can be in it when an earlier is not.
// - A chunk that was FULL before its zero word was read ends there; one that was not may go on.
// - A virtual thread writes in segments, each in the chunk of the carrier it runs on. Segment k may
//   begin once k-1 has begun and the writer that had it was read to the end of it. When the THREAD of
//   segment k is visible, all of k-1 is visible too, so that end is where it stops being written.
//   If k-1 has not begun yet, the writer is held back until it has.
// - A BEGIN is read after the SUBMIT of its token, which another writer has stored before. Until that has
//   been read, the writer is held back.

import { EX_SOFTWARE, JfluidError } from '../base/errors.ts'
import { decodeEvents, type EventSink, type ThreadGate, UnknownEvent, WriterState } from './decode.ts'
import { THREAD_NUMBER_BITS } from './event-layout.ts'
import type { Ring } from './ring.ts'
import { CHUNK_EVENTS, CHUNK_FREE, CHUNK_FULL, CHUNK_IDLE } from './ring-layout.ts'

/** A chunk whose header contradicts what was read before. */
export class BrokenChunk extends JfluidError {
  readonly exitCode = EX_SOFTWARE
  readonly hint = 'Detach, attach again, and please report this: the event buffer was overwritten.'
  constructor(chunk: number, writer: number, problem: string) {
    super(`chunk ${chunk} of writer ${writer}: ${problem}`)
  }
}

/** Chunks of one writer read in a row before others get their turn. */
const CHUNKS_A_TURN = 8
/** Complete rounds that a segment's predecessor, or a SUBMIT, may stay missing before it is given up. */
const PATIENT_ROUNDS = 3
const SEGMENTS = 2 ** 16
/** At the end, besides those that each chunk may be waited for. */
const MORE_ROUNDS = 64

class Writer extends WriterState {
  /** The chunk being read, -1 between two, and the offset in it. */
  chunk = -1
  offset = 0
  /** Of the chunk being read, or of the next one. */
  sequence = 0
  /** Chunks that wait for their turn, by sequence. */
  readonly later = new Map<number, number>()
  /** Complete rounds that this writer has been held, or has missed a chunk. */
  rounds = 0
}

export class RingReader implements ThreadGate {
  readonly #ring: Ring
  readonly #sink: EventSink
  readonly #onChunk: () => void
  readonly #writers = new Map<number, Writer>()
  /** Holds every thread back: reads to the end of a segment and no further. */
  readonly #segmentEnd: ThreadGate = {
    mayBegin: () => false,
    mayTakeUp: (token) => {
      this.#cutShort = !this.mayTakeUp(token)
      return !this.#cutShort
    },
  }
  /** Reading to the end of a segment has stopped before it. */
  #cutShort = false
  /** Those that own a chunk, in the order they came. */
  #active: Writer[] = []
  /** By chunk: its state in this round's snapshot, and whether a writer has it on its list. */
  readonly #seen: Uint8Array
  readonly #known: Uint8Array
  /** By number of a virtual thread: the segment to begin next, and the writer that has the latest. */
  #nextSegment = new Int32Array(64)
  #holder = new Int32Array(64)
  #turn = 0
  #free = 0
  #idle = 0
  #returned = 0
  #lastTicks = 0
  #events = 0
  #disordered = 0
  #complete = true

  /** @param onChunk  told of each chunk that is given back: a sign of life */
  constructor(ring: Ring, sink: EventSink, onChunk: () => void = () => {}) {
    this.#ring = ring
    this.#sink = sink
    this.#onChunk = onChunk
    this.#seen = new Uint8Array(ring.chunkCount)
    this.#known = new Uint8Array(ring.chunkCount)
  }

  /** Enter and exit events read so far. */
  get events(): number {
    return this.#events
  }

  /** The latest time of an enter or exit read so far. */
  get lastTicks(): number {
    return this.#lastTicks
  }

  /** As the last round found them, those it gave back included. */
  get freeChunks(): number {
    return this.#free
  }

  get idleChunks(): number {
    return this.#idle
  }

  /** Chunks that the last round gave back. */
  get returnedChunks(): number {
    return this.#returned
  }

  /** Segments of virtual threads that were read although their predecessor never came. */
  get disordered(): number {
    return this.#disordered
  }

  /** Whether the last round read all that was visible when it began. */
  get complete(): boolean {
    return this.#complete
  }

  /**
   * One round: reads what is there and gives back what is full.
   *
   * @param maxChunks chunks to read at most, so that the caller can do something else
   * @returns enter and exit events read
   * @throws UnknownEvent, BrokenChunk; the reader must not be used afterwards
   */
  poll(maxChunks = Number.POSITIVE_INFINITY): number {
    const before = this.#events
    this.#takeStock()
    const writers = this.#active
    let budget = maxChunks
    let read = 0
    for (; read < writers.length && budget > 0; read++) {
      const writer = writers[(this.#turn + read) % writers.length]
      const chunks = this.#drain(writer, Math.min(CHUNKS_A_TURN, budget))
      budget -= Math.max(1, chunks)
      if (chunks === CHUNKS_A_TURN) this.#complete = false
    }
    if (read < writers.length) this.#complete = false
    if (writers.length > 0) this.#turn = (this.#turn + read) % writers.length
    this.#releaseHeld()
    if (this.#complete) this.#giveUp()
    this.#active = writers.filter((writer) => writer.chunk >= 0 || writer.later.size > 0)
    return this.#events - before
  }

  /**
   * Reads until nothing is left: for the end of a session, when nobody writes any more. A target that goes on writing all the same
   * is not followed: of a buffer at rest each chunk is given back once.
   */
  drain(): number {
    const { chunkCount } = this.#ring
    let events = 0
    let given = 0
    for (
      let rounds = 0;
      given <= chunkCount && rounds < PATIENT_ROUNDS * chunkCount + MORE_ROUNDS;
      rounds++
    ) {
      const read = this.poll()
      events += read
      given += this.#returned
      if (read === 0 && this.#complete && this.#active.every((writer) => writer.rounds === 0)) break
    }
    return events
  }

  /** Takes a snapshot of the states, and puts chunks that are new on their writers' lists. */
  #takeStock(): void {
    const ring = this.#ring
    ring.refresh()
    this.#complete = true
    this.#free = 0
    this.#idle = 0
    this.#returned = 0
    for (let chunk = 0; chunk < ring.chunkCount; chunk++) {
      const state = ring.state(chunk)
      this.#seen[chunk] = state
      if (state === CHUNK_FREE) this.#free++
      else if (this.#known[chunk] === 0) this.#take(chunk)
      if (state === CHUNK_IDLE) this.#idle++
    }
  }

  #take(chunk: number): void {
    const ring = this.#ring
    const number = ring.writer(chunk)
    if (number === 0) return
    if (number >= 2 ** THREAD_NUMBER_BITS) throw new BrokenChunk(chunk, number, 'no such writer')
    let writer = this.#writers.get(number)
    if (writer === undefined) {
      writer = new Writer(number)
      this.#writers.set(number, writer)
    }
    const sequence = ring.sequence(chunk)
    const expected = writer.chunk >= 0 ? writer.sequence + 1 : writer.sequence
    if (sequence < expected || writer.later.has(sequence)) {
      throw new BrokenChunk(chunk, number, `has sequence ${sequence} again`)
    }
    if (writer.chunk < 0 && writer.later.size === 0) this.#active.push(writer)
    writer.later.set(sequence, chunk)
    this.#known[chunk] = 1
  }

  /** @returns chunks read to their end */
  #drain(writer: Writer, maxChunks: number): number {
    for (let chunks = 0; chunks < maxChunks; chunks++) {
      if (writer.chunk < 0 && !this.#nextChunk(writer)) return chunks
      const chunk = writer.chunk
      this.#read(writer, 0, this)
      // A writer that has a later chunk is done with this one, whatever its state says: a thread that ran
      // out of stack at the wrong moment may have left it BUSY.
      const ended = this.#seen[chunk] === CHUNK_FULL || writer.later.has(writer.sequence + 1)
      if (writer.held || !ended) return chunks
      this.#ring.free(chunk, writer.offset)
      this.#onChunk()
      this.#free++
      this.#returned++
      this.#known[chunk] = 0
      writer.chunk = -1
      writer.sequence++
    }
    return maxChunks
  }

  #nextChunk(writer: Writer): boolean {
    const chunk = writer.later.get(writer.sequence)
    if (chunk === undefined) return false
    const epoch = this.#ring.epoch(chunk)
    if (epoch < 0) throw new BrokenChunk(chunk, writer.writer, 'its epoch is beyond 2^58 ticks')
    writer.later.delete(writer.sequence)
    writer.chunk = chunk
    writer.offset = CHUNK_EVENTS
    writer.rounds = 0
    writer.startChunk(epoch)
    return true
  }

  /** Reads the writer's present chunk as far as it is written, or as `gate` allows. */
  #read(writer: Writer, level: 0 | 1, gate: ThreadGate): void {
    const ring = this.#ring
    const { chunk, offset, events } = writer
    const end = ring.look(chunk, offset, level)
    writer.held = false
    if (end === offset) return
    const words = ring.words(level)
    const origin = ring.origin(chunk, level)
    const stop = decodeEvents(words, origin + offset / 4, origin + end / 4, writer, this.#sink, gate)
    if (stop > origin + offset / 4) writer.rounds = 0
    writer.offset = (stop - origin) * 4
    this.#events += writer.events - events
    if (writer.lastTicks > this.#lastTicks) this.#lastTicks = writer.lastTicks
    if (writer.offset < end && !writer.held) {
      throw new UnknownEvent(writer.writer, writer.sequence, writer.offset, words[stop + 1], words[stop])
    }
  }

  mayBegin(by: WriterState, thread: number, segment: number): boolean {
    if (thread >= this.#holder.length) this.#grow(thread)
    if (segment !== this.#nextSegment[thread]) return false
    const holder = this.#writers.get(this.#holder[thread])
    if (holder !== undefined && holder !== by && holder.thread === thread && holder.chunk >= 0) {
      this.#cutShort = false
      this.#read(holder, 1, this.#segmentEnd)
      if (this.#cutShort) return false
    }
    this.#nextSegment[thread] = (segment + 1) % SEGMENTS
    this.#holder[thread] = by.writer
    return true
  }

  mayTakeUp(token: number): boolean {
    return this.#sink.knows(token)
  }

  #grow(thread: number): void {
    const size = 2 ** Math.ceil(Math.log2(thread + 1))
    const nextSegment = new Int32Array(size)
    const holder = new Int32Array(size)
    nextSegment.set(this.#nextSegment)
    holder.set(this.#holder)
    this.#nextSegment = nextSegment
    this.#holder = holder
  }

  /** Tries held writers again while that frees one: what one waits for may lie behind another. */
  #releaseHeld(): void {
    for (let released = true; released; ) {
      released = false
      for (const writer of this.#active) {
        if (!writer.held) continue
        const { chunk, offset } = writer
        this.#drain(writer, 1)
        released ||= writer.chunk !== chunk || writer.offset !== offset
      }
    }
  }

  /**
   * What a held writer waits for was visible before its THREAD or BEGIN was, so the next complete round
   * finds it. Where a few do not, a segment is lost: its thread goes on without, and is healed. Or a
   * SUBMIT is lost, and what was begun stands for itself.
   */
  #giveUp(): void {
    for (const writer of this.#active) {
      const missing = writer.chunk < 0 && writer.later.size > 0
      if (!writer.held && !missing) continue
      if (++writer.rounds <= PATIENT_ROUNDS) continue
      if (missing) {
        const chunk = Math.min(...writer.later.values())
        throw new BrokenChunk(chunk, writer.writer, `sequence ${writer.sequence} never came`)
      }
      this.#disordered++
      let given = false
      this.#read(writer, 0, {
        mayBegin: (by, thread, segment) => {
          if (!given) this.#nextSegment[thread] = segment
          given = true
          return this.mayBegin(by, thread, segment)
        },
        mayTakeUp: (token) => {
          const known = this.mayTakeUp(token)
          if (known || given) return known
          given = true
          return true
        },
      })
      return
    }
  }
}
