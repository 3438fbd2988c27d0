// Start and end time of a recording.

import type { TargetClock } from './clock.ts'

export class Span {
  startedAt = new Date()
  /** Start time on the `performance.now()` scale. */
  begun = performance.now()
  #durationMs: number | undefined
  /** End time of the recording, in ticks of the target; undefined while the recording runs. */
  endTicks: number | undefined

  constructor(private readonly clock: TargetClock) {}

  /** Sets the start time to now. The time before was preparation, or is discarded. */
  begin(): void {
    this.startedAt = new Date()
    this.begun = performance.now()
  }

  /** Sets the end time to now, unless the recording has already ended. */
  end(): void {
    this.#durationMs ??= performance.now() - this.begun
    this.endTicks ??= this.clock.nowTicks
  }

  /** Duration of the recording until its end, or until now while it runs. */
  get durationMs(): number {
    return this.#durationMs ?? performance.now() - this.begun
  }

  /** End time in ticks of the target; the current time while the recording runs. */
  get latestTicks(): number {
    return this.endTicks ?? this.clock.nowTicks
  }
}
