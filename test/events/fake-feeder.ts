// The steps of Feeder.java for a buffer: the agent's side of a MirrorRing.

import { LAST, MORE } from '../../src/events/remote-ring.ts'
import type { Ring } from '../../src/events/ring.ts'
import { CHUNK_EVENTS, CHUNK_FREE } from '../../src/events/ring-layout.ts'

const WHOLE = 1

export class FakeFeeder {
  readonly #ring: Ring
  readonly #partBytes: number
  readonly #sent: number[]
  readonly #told: number[]
  #present: boolean[] = []
  #at: number
  #isLast = false

  constructor(ring: Ring, partBytes: number) {
    this.#ring = ring
    this.#partBytes = partBytes
    this.#sent = Array.from({ length: ring.chunkCount }, () => CHUNK_EVENTS)
    this.#told = this.#sent.map(() => -1)
    this.#at = ring.chunkCount
  }

  /** @param isLast  no thread writes any more */
  answer(question: Buffer, isLast: boolean): Buffer {
    const ring = this.#ring
    for (let i = 0; i < question.readUInt32LE(4); i++) this.#free(question.readUInt32LE(8 + 4 * i))
    if (this.#at === ring.chunkCount) {
      this.#isLast = isLast
      ring.refresh()
      const all = Array.from({ length: ring.chunkCount }, (_, i) => i)
      this.#present = all.map((it) => ring.state(it) !== CHUNK_FREE && ring.writer(it) !== 0)
      this.#at = 0
    }
    const entries: Buffer[] = []
    for (let bytes = 0; this.#at < ring.chunkCount && bytes < this.#partBytes; this.#at++) {
      const entry = this.#present[this.#at] ? this.#entry(this.#at) : null
      if (entry === null) continue
      entries.push(entry)
      bytes += entry.length
    }
    const kind = this.#at < ring.chunkCount ? MORE : this.#isLast ? LAST : WHOLE
    const bytes = entries.reduce((sum, it) => sum + it.length, 0)
    return Buffer.concat([words(kind, bytes, ring.starving(), ring.gaps(), ring.ended()), ...entries])
  }

  #free(chunk: number): void {
    this.#ring.free(chunk, this.#sent[chunk]!)
    this.#sent[chunk] = CHUNK_EVENTS
    this.#told[chunk] = -1
    this.#present[chunk] = false
  }

  #entry(chunk: number): Buffer | null {
    const ring = this.#ring
    ring.refresh()
    const state = ring.state(chunk)
    const from = this.#sent[chunk]!
    const end = ring.look(chunk, from, 1)
    if (end === from && state === this.#told[chunk]) return null
    const origin = ring.origin(chunk, 1)
    const written = ring.words(1).slice(origin + from / 4, origin + end / 4)
    const epoch = ring.epoch(chunk)
    this.#sent[chunk] = end
    this.#told[chunk] = state
    const head = words(
      ...[chunk, state, ring.writer(chunk), ring.sequence(chunk)],
      ...[epoch % 2 ** 32, Math.floor(epoch / 2 ** 32), from, end - from],
    )
    return Buffer.concat([head, Buffer.from(written.buffer)])
  }
}

const words = (...values: number[]): Buffer => Buffer.from(Uint32Array.from(values).buffer)
