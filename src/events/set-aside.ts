// Copies of chunks that could not be read immediately, so that the target's threads find free chunks while the tree is being processed. The
// copies are read later like chunks of the buffer. Their numbers follow the buffer's own chunk numbers.

import type { Ring } from './ring.ts'
import { CHUNK_EVENTS } from './ring-layout.ts'

/** Maximum size: the events that a few threads write in a quarter of a second. Unused parts take no memory. */
const MAX_BYTES = 2 ** 26

export class SetAside {
  #most: number
  readonly #chunkWords: number
  #words: Uint32Array | undefined
  /** Per slot: offset after the last event, and the epoch. */
  readonly #ends: Float64Array
  readonly #epochs: Float64Array
  readonly #free: number[] = []
  #used = 0

  constructor(private readonly ring: Ring) {
    this.#most = Math.max(1, Math.floor(MAX_BYTES / ring.chunkBytes))
    this.#chunkWords = ring.chunkBytes / 4
    this.#ends = new Float64Array(this.#most)
    this.#epochs = new Float64Array(this.#most)
  }

  /** Number of chunks held now. */
  get count(): number {
    return this.#used - this.#free.length
  }

  has(chunk: number): boolean {
    return chunk >= this.ring.chunkCount
  }

  /**
   * Copies a FULL chunk of which nothing has been read, and frees it in the buffer.
   *
   * @returns the number under which the copy is read; -1 if there is no room and the chunk stays in the buffer
   */
  take(chunk: number): number {
    if (!this.#hasRoom()) return -1
    const place = this.#free.pop() ?? (this.#used < this.#most ? this.#used++ : -1)
    if (place < 0) return -1
    const ring = this.ring
    const epoch = ring.epoch(chunk)
    const end = ring.look(chunk, CHUNK_EVENTS, 2)
    const from = ring.origin(chunk, 2)
    const events = ring.words(2).subarray(from + CHUNK_EVENTS / 4, from + end / 4)
    this.words.set(events, place * this.#chunkWords + CHUNK_EVENTS / 4)
    this.#ends[place] = end
    this.#epochs[place] = epoch
    ring.free(chunk, end)
    return ring.chunkCount + place
  }

  /** Returns whether a copy fits. Never throws, even without memory: the caller may be in the middle of an update. */
  #hasRoom(): boolean {
    if (this.#most === 0) return false
    try {
      this.#words ??= new Uint32Array(this.#most * this.#chunkWords)
      return true
    } catch {
      this.#most = 0 // without copies the target waits, as for any slow reader
      return false
    }
  }

  epoch(chunk: number): number {
    return this.#epochs[chunk - this.ring.chunkCount]
  }

  /** Returns the offset after the last event. */
  end(chunk: number): number {
    return this.#ends[chunk - this.ring.chunkCount]
  }

  /** Words of all slots: the chunk's offset `o` is element `origin(chunk) + o / 4`. */
  get words(): Uint32Array {
    return this.#words as Uint32Array
  }

  origin(chunk: number): number {
    return (chunk - this.ring.chunkCount) * this.#chunkWords
  }

  /** Frees the slot of a chunk that has been read. */
  release(chunk: number): void {
    this.#free.push(chunk - this.ring.chunkCount)
  }
}
