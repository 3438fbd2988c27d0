// From when to when a session has recorded.

import type { TargetClock } from './clock.ts'

export class Span {
  startedAt = new Date()
  /** As `performance.now()` has it. */
  begun = performance.now()
  #durationMs: number | undefined
  /** Ticks of the target at its end; undefined while it goes on. */
  endTicks: number | undefined

  constructor(private readonly clock: TargetClock) {}

  /** It begins now: what was before is forgotten, or was preparation. */
  begin(): void {
    this.startedAt = new Date()
    this.begun = performance.now()
  }

  /** It ends now, unless it has ended. */
  end(): void {
    this.#durationMs ??= performance.now() - this.begun
    this.endTicks ??= this.clock.nowTicks
  }

  /** Up to its end, or so far. */
  get durationMs(): number {
    return this.#durationMs ?? performance.now() - this.begun
  }

  /** Ticks of the target at its end, or now. */
  get latestTicks(): number {
    return this.endTicks ?? this.clock.nowTicks
  }
}
