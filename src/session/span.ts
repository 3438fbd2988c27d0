// From when to when a session has recorded.

import type { TargetClock } from './clock.ts'

export class Span {
  readonly #clock: TargetClock
  #startedAt = new Date()
  #begun = performance.now()
  #durationMs: number | undefined
  #endTicks: number | undefined

  constructor(clock: TargetClock) {
    this.#clock = clock
  }

  /** It begins now: what was before is forgotten, or was preparation. */
  begin(): void {
    this.#startedAt = new Date()
    this.#begun = performance.now()
  }

  /** It ends now, unless it has ended. */
  end(): void {
    this.#durationMs ??= performance.now() - this.#begun
    this.#endTicks ??= this.#clock.nowTicks
  }

  get startedAt(): Date {
    return this.#startedAt
  }

  /** As `performance.now()` has it. */
  get begun(): number {
    return this.#begun
  }

  /** Up to its end, or so far. */
  get durationMs(): number {
    return this.#durationMs ?? performance.now() - this.#begun
  }

  /** Ticks of the target at its end; undefined while it goes on. */
  get endTicks(): number | undefined {
    return this.#endTicks
  }

  /** Ticks of the target at its end, or now. */
  get latestTicks(): number {
    return this.#endTicks ?? this.#clock.nowTicks
  }
}
