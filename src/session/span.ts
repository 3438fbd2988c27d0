// Start and end time of a recording.

import type { TargetClock } from './clock.ts'

export class Span {
  startedAt = new Date()
  /** Start time on the `performance.now()` scale. */
  begun = performance.now()
  #durationMs: number | undefined
  /** Ticks of the target at the end; undefined while the recording runs. */
  endTicks: number | undefined

  constructor(private readonly clock: TargetClock) {}

  /** Begins the span now. Earlier time was preparation, or is discarded. */
  begin(): void {
    this.startedAt = new Date()
    this.begun = performance.now()
  }

  /** Ends the span now, unless it has ended. */
  end(): void {
    this.#durationMs ??= performance.now() - this.begun
    this.endTicks ??= this.clock.nowTicks
  }

  /** Duration until the end, or until now. */
  get durationMs(): number {
    return this.#durationMs ?? performance.now() - this.begun
  }

  /** Ticks of the target at the end, or now. */
  get latestTicks(): number {
    return this.endTicks ?? this.clock.nowTicks
  }
}
