// Chunks that were copied out of the buffer before there was time to read them: so the target's threads find free ones while
// the tree is worked on. They are read like those of the buffer, later, under numbers above its own.

import type { Ring } from './ring.ts'
import { CHUNK_EVENTS } from './ring-layout.ts'

/** As many events as a few threads write in a quarter of a second. Untouched parts of it take no memory. */
const MOST_BYTES = 2 ** 26

export class SetAside {
  #most: number
  readonly #chunkWords: number
  #words: Uint32Array | undefined
  /** By place: offset after the last event, and the epoch. */
  readonly #ends: Float64Array
  readonly #epochs: Float64Array
  readonly #free: number[] = []
  #used = 0

  constructor(private readonly ring: Ring) {
    this.#most = Math.max(1, Math.floor(MOST_BYTES / ring.chunkBytes))
    this.#chunkWords = ring.chunkBytes / 4
    this.#ends = new Float64Array(this.#most)
    this.#epochs = new Float64Array(this.#most)
  }

  /** Chunks that it holds now. */
  get count(): number {
    return this.#used - this.#free.length
  }

  has(chunk: number): boolean {
    return chunk >= this.ring.chunkCount
  }

  /**
   * Copies a FULL chunk of which nothing has been read, and gives it back to the target.
   *
   * @returns the number under which it is read; -1: there is no room, and it stays where it is
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

  /** Who calls us is in the middle of something, and must not hear of a want of memory. */
  #hasRoom(): boolean {
    if (this.#most === 0) return false
    try {
      this.#words ??= new Uint32Array(this.#most * this.#chunkWords)
      return true
    } catch {
      this.#most = 0 // the target waits, then, as it does for any reader that is slow
      return false
    }
  }

  epoch(chunk: number): number {
    return this.#epochs[chunk - this.ring.chunkCount]
  }

  /** Offset after the last event. */
  end(chunk: number): number {
    return this.#ends[chunk - this.ring.chunkCount]
  }

  /** Of all places: the chunk's offset `o` is element `origin(chunk) + o / 4`. */
  get words(): Uint32Array {
    return this.#words as Uint32Array
  }

  origin(chunk: number): number {
    return (chunk - this.ring.chunkCount) * this.#chunkWords
  }

  /** Once it has been read. */
  release(chunk: number): void {
    this.#free.push(chunk - this.ring.chunkCount)
  }
}
