// Reads every owned chunk of the buffer up to its first zero word, and frees full chunks.
//
// This module defines the order in which events reach the sink:
// - A writer's chunks are read in the order of `sequence`, each to its end before the next. The state table is read once per round. It is
// not a snapshot of one moment: it may show a writer's later chunk but not the earlier chunk.
// - If a chunk was FULL before its first zero word was read, the chunk ends at that word. Any other chunk may get more words.
// - A virtual thread writes in segments, each in a chunk of its carrier. Segment k may begin once segment k-1 has begun and has been read
// to its end. When the THREAD word of segment k is visible, all of k-1 is visible too, so k-1 ends at its last written word. If k-1 has
// not begun yet, the writer of segment k is held: its further events are read later.
// - While the sink is busy, it may set chunks aside: copies of these chunks are read in their turn, and the target can reuse the chunks.
// - A BEGIN is read after the SUBMIT of its token, which another writer stored earlier. The writer of the BEGIN is held until the SUBMIT
// has been read.

import { minOf } from '../base/arrays.ts'
import { EX_SOFTWARE, JfluidError } from '../base/errors.ts'
import { getOrAdd } from '../base/maps.ts'
import { decodeEvents, type EventSink, type ThreadGate, UnknownEvent, WriterState } from './decode.ts'
import { THREAD_NUMBER_BITS } from './event-layout.ts'
import type { Ring } from './ring.ts'
import { CHUNK_EVENTS, CHUNK_FREE, CHUNK_FULL, CHUNK_IDLE } from './ring-layout.ts'
import { SetAside } from './set-aside.ts'

/** Thrown if the header of a chunk contradicts earlier data. */
export class BrokenChunk extends JfluidError {
  static sample = () => new BrokenChunk(12, 3, 'its epoch is beyond 2^58 ticks')
  readonly exitCode = EX_SOFTWARE
  readonly hint =
    'Attach again, and report this message: something in the JVM has overwritten the event buffer.'
  constructor(chunk: number, writer: number, problem: string) {
    super(`the event buffer is damaged, in chunk ${chunk} of writer ${writer}: ${problem}`)
  }
}

/** Maximum number of chunks of one writer that are read before other writers get a turn. */
const CHUNKS_PER_TURN = 8
/** Number of complete rounds after which a missing earlier segment, or a missing SUBMIT, counts as lost. */
const MAX_MISSING_ROUNDS = 3
const SEGMENTS = 2 ** 16
/** Number of rounds that `drain` may use in addition to MAX_MISSING_ROUNDS per chunk. */
const EXTRA_ROUNDS = 64

class Writer extends WriterState {
  /** Current chunk, or -1 between two chunks. `offset` is the position in the current chunk. */
  chunk = -1
  offset = 0
  /** Sequence number of the current chunk; between two chunks, of the next chunk. */
  sequence = 0
  /** Chunks to be read later, keyed by sequence number. */
  readonly later = new Map<number, number>()
  /** Number of complete rounds in which this writer was held, or in which its next chunk was missing. */
  rounds = 0
}

export class RingReader implements ThreadGate {
  readonly #ring: Ring
  #sink: EventSink
  readonly #onChunk: () => void
  readonly #writers = new Map<number, Writer>()
  /** Gate that stops at the end of a segment: it admits no THREAD. */
  readonly #segmentEnd: ThreadGate = {
    mayBegin: () => false,
    mayTakeUp: (token) => {
      this.#cutShort = !this.mayTakeUp(token)
      return !this.#cutShort
    },
  }
  /** Whether a segment could not be read to its end, because a BEGIN was held. */
  #cutShort = false
  readonly #aside: SetAside
  /** Writers that own a chunk, in the order in which they were found. */
  #active: Writer[] = []
  /** Writers that were found to own a chunk since `#active` was last extended. */
  #arrived: Writer[] = []
  /** Per chunk: its state as read in this round. `#known` contains, per chunk, whether it is on a writer's list. */
  readonly #seen: Uint8Array
  readonly #known: Uint8Array
  /** Per virtual thread: the next segment to begin. The following array contains the writer of the latest segment. */
  #nextSegment = new Int32Array(64)
  #holder = new Int32Array(64)
  #turn = 0
  #free = 0
  #idle = 0
  #returned = 0
  #lastTicks = 0
  /** Value of `Ring.age` when data were last missing. */
  #age = 0
  #events = 0
  #disordered = 0
  #complete = true

  /** @param onChunk  called for each freed chunk, as a sign of progress */
  constructor(ring: Ring, sink: EventSink, onChunk: () => void = () => {}) {
    this.#ring = ring
    this.#sink = sink
    this.#onChunk = onChunk
    this.#aside = new SetAside(ring)
    this.#seen = new Uint8Array(ring.chunkCount)
    this.#known = new Uint8Array(ring.chunkCount)
  }

  /** Sends all later events to another sink. */
  switchSink(sink: EventSink): void {
    this.#sink = sink
  }

  /** Number of enter and exit events read so far. */
  get events(): number {
    return this.#events
  }

  /** Latest time of an enter or exit event. */
  get lastTicks(): number {
    return this.#lastTicks
  }

  /** Number of free chunks at the end of the last round, including the chunks freed by that round. */
  get freeChunks(): number {
    return this.#free
  }

  get idleChunks(): number {
    return this.#idle
  }

  /** Number of chunks that the last round freed. */
  get returnedChunks(): number {
    return this.#returned
  }

  /** Number of virtual thread segments that were read although the previous segment never arrived. */
  get disordered(): number {
    return this.#disordered
  }

  /** Whether the last round read all data that were visible at its start. */
  get complete(): boolean {
    return this.#complete
  }

  /**
   * Runs one round: reads the available data and frees full chunks.
   *
   * @param maxChunks maximum number of chunks to read, so that the caller is not blocked for long
   * @returns number of enter and exit events read
   * @throws UnknownEvent, BrokenChunk; the reader must not be used afterwards
   */
  poll(maxChunks = Number.POSITIVE_INFINITY): number {
    const before = this.#events
    this.#admit()
    this.#readStates()
    const writers = this.#active
    let budget = maxChunks
    let read = 0
    for (; read < writers.length && budget > 0; read++) {
      const writer = writers[(this.#turn + read) % writers.length]
      const { events } = this
      const chunks = this.#drain(writer, Math.min(CHUNKS_PER_TURN, budget))
      // A writer without new events does not reduce the budget: a server has hundreds of threads with a chunk, most of them idle.
      budget -= this.#events > events ? Math.max(1, chunks) : chunks
      if (chunks === CHUNKS_PER_TURN) this.#complete = false
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
   * Reads all data that are in the buffer now, while the target continues to write. A round reads up to CHUNKS_PER_TURN chunks per writer,
   * so the number of rounds below is enough for a full buffer.
   */
  catchUp(): void {
    for (let rounds = 0; rounds <= this.#ring.chunkCount / CHUNKS_PER_TURN; rounds++) {
      this.poll()
      if (this.#complete) return
    }
  }

  /**
   * Reads all remaining data at the end of a session. No thread should write any more. If the target still writes, the loop ends anyway:
   * each chunk and each copy is freed at most once.
   */
  drain(): number {
    const most = this.#ring.chunkCount + this.#aside.count
    let events = 0
    let given = 0
    for (let rounds = 0; given <= most && rounds < MAX_MISSING_ROUNDS * most + EXTRA_ROUNDS; rounds++) {
      const read = this.poll()
      events += read
      given += this.#returned
      if (read === 0 && this.#complete && this.#active.every((writer) => writer.rounds === 0)) break
    }
    return events
  }

  /**
   * Copies and frees full chunks if few chunks are free. The sink calls this method while it is busy with other work. It may be called at
   * any time, even from the sink's methods.
   */
  setAside(): void {
    const ring = this.#ring
    ring.refresh()
    let free = 0
    for (let chunk = 0; chunk < ring.chunkCount; chunk++) if (ring.state(chunk) === CHUNK_FREE) free++
    if (free > ring.chunkCount / 2) return
    for (let chunk = 0; chunk < ring.chunkCount; chunk++) {
      if (ring.state(chunk) !== CHUNK_FULL || !ring.isSettled(chunk)) continue
      // A contradiction in the chunk's header is ignored here. It is found again and reported when the chunk is read.
      if (this.#known[chunk] === 0 && this.#register(chunk, this.#arrived) !== undefined) continue
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

  /** Reads the states of all chunks, and adds new chunks to their writers' lists. */
  #readStates(): void {
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
        const problem = this.#register(chunk, this.#active)
        if (problem !== undefined) throw new BrokenChunk(chunk, ring.writer(chunk), problem)
      }
      if (state === CHUNK_IDLE) this.#idle++
    }
  }

  /** Adds the writers in `#arrived` to `#active`. */
  #admit(): void {
    for (const writer of this.#arrived.splice(0)) {
      if (!this.#active.includes(writer)) this.#active.push(writer)
    }
  }

  /**
   * Adds a chunk to its writer's list.
   * @param owners  list to which a new writer is added
   * @returns the contradiction in the chunk's header, if any
   */
  #register(chunk: number, owners: Writer[]): string | undefined {
    const ring = this.#ring
    const number = ring.writer(chunk)
    if (number === 0) return undefined
    if (number >= 2 ** THREAD_NUMBER_BITS) return 'no such writer'
    const writer = getOrAdd(this.#writers, number, () => new Writer(number))
    const sequence = ring.sequence(chunk)
    const expected = writer.chunk >= 0 ? writer.sequence + 1 : writer.sequence
    if (sequence < expected || writer.later.has(sequence)) return `has sequence ${sequence} again`
    if (writer.chunk < 0 && writer.later.size === 0) owners.push(writer)
    writer.later.set(sequence, chunk)
    this.#known[chunk] = 1
    return undefined
  }

  /** Reads chunks of a writer. @returns number of chunks read to their end */
  #drain(writer: Writer, maxChunks: number): number {
    for (let chunks = 0; chunks < maxChunks; chunks++) {
      if (writer.chunk < 0 && !this.#nextChunk(writer)) return chunks
      const chunk = writer.chunk
      // If a writer has a later chunk, this chunk has ended, even if its state is BUSY: a thread whose stack overflowed at the wrong moment
      // may not have changed the state. A later chunk that was found during this read does not count, since words may have been added after
      // the read.
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

  /** Reads the writer's current chunk up to its last written word, or up to a word that `gate` does not admit. */
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

  /** Retries all held writers until none of them can continue: a writer may wait for words of another held writer. */
  #releaseHeld(): void {
    for (let released = true; released; ) {
      released = false
      for (const writer of this.#active) {
        if (!writer.held) continue
        const { chunk, offset } = writer
        // The writer's next chunk was not read in this round, and may contain words that other writers wait for.
        if (this.#drain(writer, 1) > 0) this.#complete = false
        released ||= writer.chunk !== chunk || writer.offset !== offset
      }
    }
  }

  /**
   * Ends the wait of held writers. The words for which a writer waits were visible before its THREAD or BEGIN, so the next complete round
   * contains these words. If they are still missing after a few rounds, a segment or a SUBMIT is lost. If a segment is lost, the thread's
   * open frames are closed. If a SUBMIT is lost, the work becomes a root.
   */
  #giveUp(): void {
    const age = this.#ring.age()
    if (age !== 0 && age === this.#age) return // nothing has arrived since the last round
    this.#age = age
    let late: Writer[] | null = null
    for (const writer of this.#active) {
      const missing = writer.chunk < 0 && writer.later.size > 0
      if (!writer.held && !missing) continue
      if (++writer.rounds <= MAX_MISSING_ROUNDS) continue
      if (missing) {
        const chunk = minOf(writer.later.values())
        throw new BrokenChunk(chunk, writer.writer, `chunk number ${writer.sequence} is missing`)
      }
      late ??= []
      late.push(writer)
    }
    if (late === null) return
    // Writers that wait for a SUBMIT continue first: their chunks may contain a segment that other writers wait for.
    const getsOn = (gate: ThreadGate) => (writer: Writer) => {
      this.#read(writer, 0, gate)
      return writer.rounds === 0
    }
    if (late.some(getsOn(this.#withoutSubmit())) || late.some(getsOn(this.#withoutSegment())))
      this.#disordered++
  }

  /** Gate that admits one BEGIN without its SUBMIT. */
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

  /** Gate that admits one segment although earlier segments of its thread were not read. */
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
