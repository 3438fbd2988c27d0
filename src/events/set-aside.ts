// Stores copies of chunks that could not be read immediately, so that the target's threads find free chunks while the client processes the
// tree. The copies are read later in the same way as chunks of the buffer. They have the numbers after the buffer's chunk numbers.

import type { Ring } from './ring.ts'
import { CHUNK_EVENTS } from './ring-layout.ts'

/** Maximum size of all copies: the events that a few threads write in a quarter of a second. Unused parts take no memory. */
const MAX_BYTES = 2 ** 26

export class SetAside {
  #most: number
  readonly #chunkWords: number
  #words: Uint32Array | undefined
  /** Per slot: offset after the last event. `#epochs` contains the epoch per slot. */
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

  /** Number of copies that are stored now. */
  get count(): number {
    return this.#used - this.#free.length
  }

  has(chunk: number): boolean {
    return chunk >= this.ring.chunkCount
  }

  /**
   * Copies a FULL chunk, and frees it in the buffer. No word of the chunk may have been read yet.
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

  /** Returns whether a copy fits. Never throws, even if no memory is left: the caller may be in the middle of an update. */
  #hasRoom(): boolean {
    if (this.#most === 0) return false
    try {
      this.#words ??= new Uint32Array(this.#most * this.#chunkWords)
      return true
    } catch {
      this.#most = 0 // without copies, threads of the target wait until the client frees chunks
      return false
    }
  }

  epoch(chunk: number): number {
    return this.#epochs[chunk - this.ring.chunkCount]
  }

  /** Returns the offset after the last event of a copy. */
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
