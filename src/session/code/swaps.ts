// The redefinitions of a recording, for whoever looks at what profiling does to the target. The latest thousand.

const MOST = 1_000

export interface Swap {
  /** When it had been done, as `performance.now()` has it. */
  readonly at: number
  readonly classes: number
  /** Bodies that were sent; 0 where none had to be. */
  readonly methods: number
  /** When it had been done, in the target's ticks. */
  readonly endTicks: number
  /** How long it took in the target. */
  readonly ms: number
  /** For how much of that it stood still; null where it does not tell. */
  readonly pauseMs: number | null
}

export class Swaps {
  #latest: Swap[] = []
  #before = 0

  add(swap: Swap): void {
    this.#latest.push(swap)
    if (this.#latest.length <= MOST) return
    this.#latest.shift()
    this.#before++
  }

  /** Oldest first. */
  get latest(): readonly Swap[] {
    return this.#latest
  }

  /** How many there were before these. */
  get before(): number {
    return this.#before
  }
}
