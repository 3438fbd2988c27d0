// How long something takes without us, beside what else the machine does.

import { HELD_MS } from './witness.ts'

/** Measured when first asked for, and once more where that may have grown. */
export class Alone {
  #ms: number | undefined
  readonly #measure: () => Promise<number>

  /** @param measure  has it happen once, in ms */
  constructor(measure: () => Promise<number>) {
    this.#measure = measure
  }

  /** Whether it takes so many ms by what we do, or may do. */
  async isExceededBy(ms: number): Promise<boolean> {
    this.#ms ??= await this.#measure()
    if (ms <= this.#ms + HELD_MS) return false
    this.#ms = Math.max(this.#ms, await this.#measure())
    return ms > this.#ms + HELD_MS
  }

  toString(): string {
    return `${this.#ms?.toFixed(0)} ms`
  }
}
