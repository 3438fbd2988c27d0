// The target's clock: session ticks and the length of a tick.
//
// The nominal tick frequency drifts against the monotonic clock by several ppm. So the rate is computed from pairs of readings taken during
// the session, not from a constant. A pair consists of two readings of one clock before and after a reading of the second clock. A thread
// that is descheduled between the readings yields a wide pair. Such a pair is used only if it improves the rate.

import type { ClockName, ClockPair } from '../wire/messages.ts'

/**
 * Minimum span for a usable rate. In a shorter span, the error of a pair is larger than the correction. The agent's first two pairs are
 * farther apart (MIN_PAIR_DISTANCE_NANOS in its Calibration).
 */
const MIN_SPAN_NANOS = 2_000_000
/** Maximum relative change of a clock frequency. The kernel slews its clock by at most 500 ppm (adjtimex(2)). */
const MAX_RATE_CHANGE = 1e-3

export class TargetClock {
  /** The two pairs that define the rate. */
  private first: ClockPair
  private last: ClockPair
  /** Ticks and nanoseconds before the last clock jump. */
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

  /** Adds a newer pair. */
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
    return this.name === 'nanoTime' || nanos < MIN_SPAN_NANOS || ticks <= 0 ? 1 : nanos / ticks
  }

  toNs(ticks: number): number {
    return ticks * this.nsPerTick
  }

  /** Session ticks now, extrapolated from the last pair by the client's clock. Accurate to about 1 ms; used for open frames. */
  get nowTicks(): number {
    return this.latestTicks + ((performance.now() - this.seenAt) * 1e6) / this.nsPerTick
  }

  /** Whether a clock has jumped since the last pair: the machine slept, or was migrated while it ran. */
  private hasJumped(pair: ClockPair): boolean {
    if (this.earlierNanos + this.last.nanos - this.first.nanos < MIN_SPAN_NANOS) return false
    const nanos = pair.nanos - this.last.nanos
    const off = Math.abs(this.toNs(pair.ticks - this.last.ticks) - nanos)
    const inRate = (MAX_RATE_CHANGE + doubt(this.first, this.last)) * Math.max(nanos, 0)
    return off > inRate + this.toNs(pair.width + this.last.width)
  }
}

/** Relative error bound of a rate computed from two pairs. */
function doubt(from: ClockPair, to: ClockPair): number {
  const ticks = to.ticks - from.ticks
  return ticks <= 0 ? Number.POSITIVE_INFINITY : (from.width + to.width) / ticks
}
