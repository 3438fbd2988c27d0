// Local copy of a buffer in another machine's memory. The remote agent sends the contents of the buffer in rounds.
//
// The client sends questions, and the agent (Feeder.java) sends answers. All fields are u32, little-endian, unless stated otherwise:
//
//   question   heartbeat, n, numbers of the n chunks that were read and are free again
//   answer     kind (0: more of this round follows, 1: end of round, 2: end of the last round), bytes of entries,
//              starving, gaps, ended (ring-layout.ts), entries
//   entry      chunk, state, writer, sequence, epoch (u64), offset of the words, their length in bytes, the words
//
// A round is not a snapshot of one moment: threads write while the agent collects the data. If a round contains a writer's later chunk, it
// contains all words of the writer's earlier chunk. A word may depend on other words (the previous segment of a virtual thread, a SUBMIT),
// which are in the same round or in the next round. Words are therefore delivered (level 0) only after one more round has arrived. Code
// that searches for such earlier words sees words of the latest round immediately (level 1).

import { EX_PROTOCOL, JfluidError } from '../base/errors.ts'
import { checkedEpoch, type Ring, type RingLevel } from './ring.ts'
import { CHUNK_EVENTS, CHUNK_FREE, CHUNK_FULL } from './ring-layout.ts'

export const ANSWER_HEAD_BYTES = 20
export const MORE = 0
export const LAST = 2
const ENTRY_BYTES = 32

/** Thrown if the peer is not jfluid's agent, or if its data are damaged. */
export class MalformedRound extends JfluidError {
  static sample = () => new MalformedRound('an entry without an end')
  readonly exitCode = EX_PROTOCOL
  readonly hint = 'Attach again. If the message comes again, report it with the version of the JVM.'
  constructor(problem: string) {
    super(`jfluid received malformed events from the agent: ${problem}`)
  }
}

export class MirrorRing implements Ring {
  readonly mapped = false
  readonly chunkBytes: number
  readonly chunkCount: number
  readonly #words: Uint32Array
  readonly #states: Uint8Array
  readonly #writers: Uint32Array
  readonly #sequences: Uint32Array
  readonly #epochs: Float64Array
  /** Offset in each chunk after the last word received; in `#settled`, after the last word received before the latest round. */
  readonly #arrived: Uint32Array
  readonly #settled: Uint32Array
  /** Chunks that are free again, which the agent does not know yet. */
  readonly #freed = new Set<number>()
  #heart = 0
  #starving = 0
  #gaps = 0
  #ended = 0
  /** Number of the latest round; 0 once the transfer has ended. */
  #age = 1
  #isWhole = false

  constructor(chunkBytes: number, chunkCount: number) {
    this.chunkBytes = chunkBytes
    this.chunkCount = chunkCount
    this.#words = new Uint32Array((chunkBytes / 4) * chunkCount)
    this.#states = new Uint8Array(chunkCount).fill(CHUNK_FREE)
    this.#writers = new Uint32Array(chunkCount)
    this.#sequences = new Uint32Array(chunkCount)
    this.#epochs = new Float64Array(chunkCount)
    this.#arrived = new Uint32Array(chunkCount).fill(CHUNK_EVENTS)
    this.#settled = new Uint32Array(chunkCount).fill(CHUNK_EVENTS)
  }

  /** Returns the question that begins a round, or the question that requests more of the current round. */
  question(begins: boolean): Buffer {
    const freed = begins ? [...this.#freed] : []
    if (begins) this.#freed.clear()
    return Buffer.from(Uint32Array.from([this.#heart, freed.length, ...freed]).buffer)
  }

  /**
   * Adds a whole round.
   *
   * @throws MalformedRound
   */
  take(answers: readonly Buffer[]): void {
    this.#settled.set(this.#arrived)
    for (const answer of answers) {
      this.#starving = answer.readUInt32LE(8)
      this.#gaps = answer.readUInt32LE(12)
      this.#ended = answer.readUInt32LE(16)
      for (let at = ANSWER_HEAD_BYTES; at < answer.length; ) at = this.#addEntry(answer, at)
    }
    this.#age++
    if (answers.at(-1)?.readUInt32LE(0) !== LAST) return
    this.#settled.set(this.#arrived)
    this.#age = 0
    this.#isWhole = true
  }

  /** Whether the last round of the session has arrived. */
  get isWhole(): boolean {
    return this.#isWhole
  }

  /** Ends the transfer. Words of the latest round are not delivered if they depend on words that would be in another round. */
  cut(): void {
    this.#age = 0
  }

  /** Adds an entry of an answer. @returns offset after the entry */
  #addEntry(answer: Buffer, at: number): number {
    if (at + ENTRY_BYTES > answer.length) throw new MalformedRound('an entry without an end')
    const [chunk, state, writer, sequence, low, high, from, bytes] = Array.from({ length: 8 }, (_, i) =>
      answer.readUInt32LE(at + 4 * i),
    ) as [number, number, number, number, number, number, number, number]
    const begin = at + ENTRY_BYTES
    const end = begin + bytes
    if (chunk >= this.chunkCount || state > CHUNK_FULL || bytes % 8 !== 0 || end > answer.length)
      throw new MalformedRound(`an entry of chunk ${chunk}`)
    // The client finished reading the chunk while this entry was in transit.
    if (this.#freed.has(chunk)) return end
    if (from !== this.#arrived[chunk] || from + bytes > this.chunkBytes)
      throw new MalformedRound(`words of chunk ${chunk} from ${from} on, behind ${this.#arrived[chunk]}`)
    this.#writers[chunk] = writer
    this.#sequences[chunk] = sequence
    this.#epochs[chunk] = checkedEpoch(low, high)
    this.#states[chunk] = state
    this.#arrived[chunk] = from + bytes
    new Uint8Array(this.#words.buffer, chunk * this.chunkBytes + from, bytes).set(answer.subarray(begin, end))
    return end
  }

  refresh(): void {}

  state(chunk: number): number {
    return this.#states[chunk]!
  }

  writer(chunk: number): number {
    return this.#writers[chunk]!
  }

  sequence(chunk: number): number {
    return this.#sequences[chunk]!
  }

  epoch(chunk: number): number {
    return this.#epochs[chunk]!
  }

  look(chunk: number, from: number, level: RingLevel): number {
    return Math.max(from, (level === 0 ? this.#settled : this.#arrived)[chunk]!)
  }

  isSettled(chunk: number): boolean {
    return this.#settled[chunk] === this.#arrived[chunk]
  }

  age(): number {
    return this.#age
  }

  words(): Uint32Array {
    return this.#words
  }

  origin(chunk: number): number {
    return (chunk * this.chunkBytes) / 4
  }

  free(chunk: number): void {
    this.#words.fill(0, this.origin(chunk), this.origin(chunk + 1))
    this.#states[chunk] = CHUNK_FREE
    this.#writers[chunk] = 0
    this.#arrived[chunk] = this.#settled[chunk] = CHUNK_EVENTS
    this.#freed.add(chunk)
  }

  beat(): void {
    this.#heart = (this.#heart + 1) >>> 0
  }

  /** Does nothing: the target cannot check a thread of another machine. */
  sign(): void {}

  ended(): number {
    return this.#ended
  }

  starving(): number {
    return this.#starving
  }

  gaps(): number {
    return this.#gaps
  }

  close(): void {}
}
