// The target's clock: session ticks and how long one is.
//
// The tick clock's nominal frequency drifts against the monotonic clock by several ppm, so ticks are
// converted by pairs taken during the session, not by a constant. A pair is taken by two readings of the one clock
// around a reading of the other: a thread that loses its processor in between gives a wide pair, which is used only where
// it tells more than those before it.

import type { ClockName, ClockPair } from '../wire/messages.ts'

/** Below this the error of a pair outweighs what it could correct. Between the agent's first two pairs there is more (RATE_NANOS of its Calibration). */
const LEAST_NANOS = 2_000_000
/** No frequency changes by as much: the kernel slews its clock by 500 ppm at most (adjtimex(2)). */
const JUMP = 1e-3

export class TargetClock {
  /** The two pairs that the rate is taken from. */
  private first: ClockPair
  private last: ClockPair
  /** Before the clock jumped. */
  private earlierTicks = 0
  private earlierNanos = 0
  private latestTicks: number
  private seenAt: number

  constructor(
    first: ClockPair,
    readonly name: ClockName,
  ) {
    this.first = first
    this.last = first
    this.latestTicks = first.ticks
    this.seenAt = performance.now()
  }

  /** Takes a newer pair. */
  update(pair: ClockPair): void {
    this.latestTicks = pair.ticks
    this.seenAt = performance.now()
    if (this.hasJumped(pair)) {
      this.earlierTicks += this.last.ticks - this.first.ticks
      this.earlierNanos += this.last.nanos - this.first.nanos
      this.first = pair
      this.last = pair
      return
    }
    if (doubt(this.last, pair) < doubt(this.first, pair)) {
      this.first = this.last
      this.last = pair
    } else if (doubt(this.first, pair) <= doubt(this.first, this.last)) {
      this.last = pair
    }
  }

  /** Nanoseconds of one tick, averaged over the session so far. */
  get nsPerTick(): number {
    const nanos = this.earlierNanos + this.last.nanos - this.first.nanos
    const ticks = this.earlierTicks + this.last.ticks - this.first.ticks
    return this.name === 'nanoTime' || nanos < LEAST_NANOS || ticks <= 0 ? 1 : nanos / ticks
  }

  toNs(ticks: number): number {
    return ticks * this.nsPerTick
  }

  /** Session ticks now, by our own clock since the last pair: good to a millisecond, for open frames. */
  get nowTicks(): number {
    return this.latestTicks + ((performance.now() - this.seenAt) * 1e6) / this.nsPerTick
  }

  /** Whether one of the clocks was set since the last pair: the machine slept, or was moved while it ran. */
  private hasJumped(pair: ClockPair): boolean {
    if (this.earlierNanos + this.last.nanos - this.first.nanos < LEAST_NANOS) return false
    const nanos = pair.nanos - this.last.nanos
    const off = Math.abs(this.toNs(pair.ticks - this.last.ticks) - nanos)
    const inRate = (JUMP + doubt(this.first, this.last)) * Math.max(nanos, 0)
    return off > inRate + this.toNs(pair.width + this.last.width)
  }
}

/** Of a rate taken from two pairs: the share of it that may be wrong. */
function doubt(from: ClockPair, to: ClockPair): number {
  const ticks = to.ticks - from.ticks
  return ticks <= 0 ? Number.POSITIVE_INFINITY : (from.width + to.width) / ticks
}
