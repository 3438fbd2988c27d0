// The target's clock: session ticks and the length of a tick.
//
// The real tick frequency differs from its nominal value by several ppm. So the rate is computed from pairs of readings taken during the
// session, not from a constant. A pair consists of two readings of one clock, before and after a reading of the other clock. If the thread
// is descheduled between the readings, the pair is wide, that is, inaccurate. A wide pair is used only if it improves the rate.

import type { ClockName, ClockPair } from '../wire/messages.ts'

/**
 * Minimum time between two pairs for a usable rate. If the time is shorter, the error of a pair is larger than the correction. The agent's
 * first two pairs are farther apart (MIN_PAIR_DISTANCE_NANOS in the agent's class Calibration).
 */
const MIN_SPAN_NANOS = 2_000_000
/** Maximum relative change of a clock frequency. The kernel slews its clock by at most 500 ppm (adjtimex(2)). */
const MAX_RATE_CHANGE = 1e-3

export class TargetClock {
  /** The two pairs that define the rate. */
  private first: ClockPair
  private last: ClockPair
  /** Total ticks and nanoseconds of the time before the last clock jump. */
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

  /** Current session ticks, extrapolated from the last pair with the client's clock. Accurate to about 1 ms; used for open frames. */
  get nowTicks(): number {
    return this.latestTicks + ((performance.now() - this.seenAt) * 1e6) / this.nsPerTick
  }

  /** Returns whether a clock has jumped since the last pair, because the machine slept or (as a virtual machine) was migrated. */
  private hasJumped(pair: ClockPair): boolean {
    if (this.earlierNanos + this.last.nanos - this.first.nanos < MIN_SPAN_NANOS) return false
    const nanos = pair.nanos - this.last.nanos
    const off = Math.abs(this.toNs(pair.ticks - this.last.ticks) - nanos)
    const inRate = (MAX_RATE_CHANGE + doubt(this.first, this.last)) * Math.max(nanos, 0)
    return off > inRate + this.toNs(pair.width + this.last.width)
  }
}

/** Returns an upper bound of the relative error of a rate that is computed from two pairs. */
function doubt(from: ClockPair, to: ClockPair): number {
  const ticks = to.ticks - from.ticks
  return ticks <= 0 ? Number.POSITIVE_INFINITY : (from.width + to.width) / ticks
}
