// The duration of an action without jfluid, next to the other load of the machine.

import { HELD_MS } from './witness.ts'

/** Measured at the first request, and again if the duration may have grown. */
export class Alone {
  #ms: number | undefined
  readonly #measure: () => Promise<number>

  /** @param measure  performs the action once, and returns its duration in ms */
  constructor(measure: () => Promise<number>) {
    this.#measure = measure
  }

  /** Returns whether a duration in ms is caused, or may be caused, by jfluid. */
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
