// The target's clock: session ticks and how long one is.
//
// The tick clock's nominal frequency drifts against the monotonic clock by several ppm, so ticks are
// converted by pairs taken during the session, not by a constant.

import type { ClockPair } from '../wire/messages.ts'

/** Below this the error of a pair outweighs what it could correct. */
const LEAST_NANOS = 20_000_000

export class TargetClock {
  private last: ClockPair
  private seenAt: number

  constructor(
    private readonly first: ClockPair,
    private readonly kind: 'ticks' | 'nanoTime',
  ) {
    this.last = first
    this.seenAt = performance.now()
  }

  /** Takes a newer pair. */
  update(pair: ClockPair): void {
    this.last = pair
    this.seenAt = performance.now()
  }

  /** Nanoseconds of one tick, averaged over the session so far. */
  get nsPerTick(): number {
    const nanos = this.last.nanos - this.first.nanos
    const ticks = this.last.ticks - this.first.ticks
    return this.kind === 'nanoTime' || nanos < LEAST_NANOS || ticks <= 0 ? 1 : nanos / ticks
  }

  toNs(ticks: number): number {
    return ticks * this.nsPerTick
  }

  /** Session ticks now, by our own clock since the last pair: good to a millisecond, for open frames. */
  get nowTicks(): number {
    return this.last.ticks + ((performance.now() - this.seenAt) * 1e6) / this.nsPerTick
  }
}
