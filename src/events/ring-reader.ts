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
// - While the sink works on what it was told it may have chunks set aside: the target gets them back at once, and they are read in
//   their turn, from a copy.
// - A BEGIN is read after the SUBMIT of its token, which another writer has stored before. Until that has
//   been read, the writer is held back.

import { minOf } from '../base/arrays.ts'
import { EX_SOFTWARE, JfluidError } from '../base/errors.ts'
import { decodeEvents, type EventSink, type ThreadGate, UnknownEvent, WriterState } from './decode.ts'
import { THREAD_NUMBER_BITS } from './event-layout.ts'
import type { Ring } from './ring.ts'
import { CHUNK_EVENTS, CHUNK_FREE, CHUNK_FULL, CHUNK_IDLE } from './ring-layout.ts'
import { SetAside } from './set-aside.ts'

/** A chunk whose header contradicts what was read before. */
export class BrokenChunk extends JfluidError {
  static sample = () => new BrokenChunk(12, 3, 'its epoch is beyond 2^58 ticks')
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
  #sink: EventSink
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
  readonly #aside: SetAside
  /** Those that own a chunk, in the order they came. */
  #active: Writer[] = []
  /** Those that were found to own one meanwhile. */
  #arrived: Writer[] = []
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
  /** Of the buffer, when something was missing last. */
  #age = 0
  #events = 0
  #disordered = 0
  #complete = true

  /** @param onChunk  told of each chunk that is given back: a sign of life */
  constructor(ring: Ring, sink: EventSink, onChunk: () => void = () => {}) {
    this.#ring = ring
    this.#sink = sink
    this.#onChunk = onChunk
    this.#aside = new SetAside(ring)
    this.#seen = new Uint8Array(ring.chunkCount)
    this.#known = new Uint8Array(ring.chunkCount)
  }

  /** Another one is told what comes from now on. */
  goOnWith(sink: EventSink): void {
    this.#sink = sink
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
    this.#admit()
    this.#takeStock()
    const writers = this.#active
    let budget = maxChunks
    let read = 0
    for (; read < writers.length && budget > 0; read++) {
      const writer = writers[(this.#turn + read) % writers.length]
      const { events } = this
      const chunks = this.#drain(writer, Math.min(CHUNKS_A_TURN, budget))
      // One that has written nothing costs a look: a server has hundreds of threads with a chunk, most of them at rest.
      budget -= this.#events > events ? Math.max(1, chunks) : chunks
      if (chunks === CHUNKS_A_TURN) this.#complete = false
    }
    if (read < writers.length) this.#complete = false
    if (writers.length > 0) this.#turn = (this.#turn + read) % writers.length
    this.#releaseHeld()
    if (this.#complete) this.#giveUp()
    this.#active = writers.filter((writer) => writer.chunk >= 0 || writer.later.size > 0)
    if (this.#arrived.length > 0) this.#complete = false
    return this.#events - before
  }

  /**
   * Reads what is in the buffer now, although the target goes on writing: of each writer a round reads up to CHUNKS_A_TURN chunks, so that so
   * many rounds read a full buffer.
   */
  catchUp(): void {
    for (let rounds = 0; rounds <= this.#ring.chunkCount / CHUNKS_A_TURN; rounds++) {
      this.poll()
      if (this.#complete) return
    }
  }

  /**
   * Reads until nothing is left: for the end of a session, when nobody writes any more. A target that goes on writing all the same
   * is not followed: of a buffer at rest each chunk is given back once, and so is what was set aside.
   */
  drain(): number {
    const most = this.#ring.chunkCount + this.#aside.count
    let events = 0
    let given = 0
    for (let rounds = 0; given <= most && rounds < PATIENT_ROUNDS * most + MORE_ROUNDS; rounds++) {
      const read = this.poll()
      events += read
      given += this.#returned
      if (read === 0 && this.#complete && this.#active.every((writer) => writer.rounds === 0)) break
    }
    return events
  }

  /**
   * For the sink, while it is busy with something else than events: where few chunks are free, full ones are copied and given back.
   * May be called at any time, also from within the sink.
   */
  setAside(): void {
    const ring = this.#ring
    ring.refresh()
    let free = 0
    for (let chunk = 0; chunk < ring.chunkCount; chunk++) if (ring.state(chunk) === CHUNK_FREE) free++
    if (free > ring.chunkCount / 2) return
    for (let chunk = 0; chunk < ring.chunkCount; chunk++) {
      if (ring.state(chunk) !== CHUNK_FULL || !ring.isSettled(chunk)) continue
      // What contradicts something is found again, and refused, when it is to be read.
      if (this.#known[chunk] === 0 && this.#take(chunk, this.#arrived) !== undefined) continue
      const later = this.#writers.get(ring.writer(chunk))?.later
      const sequence = ring.sequence(chunk)
      if (later?.get(sequence) !== chunk) continue
      const copy = this.#aside.take(chunk)
      if (copy < 0) return
      later.set(sequence, copy)
      this.#known[chunk] = 0
      this.#onChunk()
    }
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
      else if (this.#known[chunk] === 0) {
        const problem = this.#take(chunk, this.#active)
        if (problem !== undefined) throw new BrokenChunk(chunk, ring.writer(chunk), problem)
      }
      if (state === CHUNK_IDLE) this.#idle++
    }
  }

  /** Those that were found while something else was done. */
  #admit(): void {
    for (const writer of this.#arrived.splice(0)) {
      if (!this.#active.includes(writer)) this.#active.push(writer)
    }
  }

  /**
   * @param owners  where a writer goes that had none
   * @returns what the chunk contradicts
   */
  #take(chunk: number, owners: Writer[]): string | undefined {
    const ring = this.#ring
    const number = ring.writer(chunk)
    if (number === 0) return undefined
    if (number >= 2 ** THREAD_NUMBER_BITS) return 'no such writer'
    let writer = this.#writers.get(number)
    if (writer === undefined) {
      writer = new Writer(number)
      this.#writers.set(number, writer)
    }
    const sequence = ring.sequence(chunk)
    const expected = writer.chunk >= 0 ? writer.sequence + 1 : writer.sequence
    if (sequence < expected || writer.later.has(sequence)) return `has sequence ${sequence} again`
    if (writer.chunk < 0 && writer.later.size === 0) owners.push(writer)
    writer.later.set(sequence, chunk)
    this.#known[chunk] = 1
    return undefined
  }

  /** @returns chunks read to their end */
  #drain(writer: Writer, maxChunks: number): number {
    for (let chunks = 0; chunks < maxChunks; chunks++) {
      if (writer.chunk < 0 && !this.#nextChunk(writer)) return chunks
      const chunk = writer.chunk
      // A writer that has a later chunk is done with this one, whatever its state says: a thread that ran
      // out of stack at the wrong moment may have left it BUSY. What is found while it is read says nothing of what is visible now.
      const isCopy = this.#aside.has(chunk)
      const ended = isCopy || this.#seen[chunk] === CHUNK_FULL || writer.later.has(writer.sequence + 1)
      this.#read(writer, 0, this)
      if (writer.held || !ended || !(isCopy || this.#ring.isSettled(chunk))) return chunks
      if (isCopy) this.#aside.release(chunk)
      else this.#giveBack(chunk, writer.offset)
      this.#onChunk()
      this.#returned++
      writer.chunk = -1
      writer.sequence++
    }
    return maxChunks
  }

  #giveBack(chunk: number, used: number): void {
    this.#ring.free(chunk, used)
    this.#free++
    this.#known[chunk] = 0
  }

  #nextChunk(writer: Writer): boolean {
    const chunk = writer.later.get(writer.sequence)
    if (chunk === undefined) return false
    const epoch = (this.#aside.has(chunk) ? this.#aside : this.#ring).epoch(chunk)
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
    const { chunk, offset, events } = writer
    const ring = this.#ring
    const aside = this.#aside
    const isCopy = aside.has(chunk)
    const end = isCopy ? aside.end(chunk) : ring.look(chunk, offset, level)
    writer.held = false
    if (end === offset) return
    const words = isCopy ? aside.words : ring.words(level)
    const origin = isCopy ? aside.origin(chunk) : ring.origin(chunk, level)
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
    return this.#sink.knows?.(token) ?? true
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
        // What comes behind that chunk has not been looked at in this round, and may be what others wait for.
        if (this.#drain(writer, 1) > 0) this.#complete = false
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
    const age = this.#ring.age()
    if (age !== 0 && age === this.#age) return // nothing has come since the last round
    this.#age = age
    let late: Writer[] | null = null
    for (const writer of this.#active) {
      const missing = writer.chunk < 0 && writer.later.size > 0
      if (!writer.held && !missing) continue
      if (++writer.rounds <= PATIENT_ROUNDS) continue
      if (missing) {
        const chunk = minOf(writer.later.values())
        throw new BrokenChunk(chunk, writer.writer, `sequence ${writer.sequence} never came`)
      }
      late ??= []
      late.push(writer)
    }
    if (late === null) return
    // First those that wait for a SUBMIT: a segment that others wait for may lie behind it.
    const getsOn = (gate: ThreadGate) => (writer: Writer) => {
      this.#read(writer, 0, gate)
      return writer.rounds === 0
    }
    if (late.some(getsOn(this.#withoutSubmit())) || late.some(getsOn(this.#withoutSegment())))
      this.#disordered++
  }

  /** Lets one BEGIN through whose SUBMIT is not there. */
  #withoutSubmit(): ThreadGate {
    let given = false
    return {
      mayBegin: (by, thread, segment) => this.mayBegin(by, thread, segment),
      mayTakeUp: (token) => {
        const known = this.mayTakeUp(token)
        if (known || given) return known
        given = true
        return true
      },
    }
  }

  /** Lets one segment begin before those in front of it. */
  #withoutSegment(): ThreadGate {
    let given = false
    return {
      mayBegin: (by, thread, segment) => {
        if (given) return this.mayBegin(by, thread, segment)
        const next = this.#nextSegment[thread]!
        this.#nextSegment[thread] = segment
        given = this.mayBegin(by, thread, segment)
        if (!given) this.#nextSegment[thread] = next
        return given
      },
      mayTakeUp: (token) => this.mayTakeUp(token),
    }
  }
}
