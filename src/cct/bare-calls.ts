// Checks the accuracy of times where calls are dense: compares the time charged to root calls with the time of root calls whose callees
// have no probes. This file contains only pure functions.

import type { LatestCalls } from './root-calls.ts'

/** Compares root calls at the end of a recording: calls with probes in their callees, and calls without probes in their callees. */
export interface BareCalls {
  /** Number of calls without probes. */
  readonly calls: number
  /** Median duration of the calls without probes. */
  readonly bareNs: number
  /** Median duration of the earlier calls with probes, minus probe costs. Negative if the subtracted costs are too high. */
  readonly chargedNs: number
  /**
   * Lower and upper bound of the ratio chargedNs / bareNs. Each median lies between two order statistics with 95 % certainty, and the
   * subtracted probe cost is accurate to 10 %.
   */
  readonly low: number
  readonly high: number
}

/** With fewer calls, the bounds of the median are too wide to be useful. */
const MIN_CALLS = 16
/**
 * Half width of the confidence interval of a median, in ranks, divided by the square root of the number of calls. The half width is two
 * standard deviations of a binomial distribution.
 */
const CERTAINTY = 0.98
/** Minimum share of probes in the time of root calls. With a smaller share, the error of the probe correction is negligible. */
const MIN_PROBE_SHARE = 0.1
/**
 * Duration that most calls must not exceed, ns. With longer calls, too few calls would begin and end within a second, and mainly the short
 * calls would be counted.
 */
const MAX_CALL_NANOS = 50e6
const MIN_SHORT_CALLS_SHARE = 0.9
/** Relative error of the subtracted probe cost. Measured with `fib`: the error is constant within a second, but varies by session. */
const PROBE_ERROR = 0.1
/** Upper bound of the cost of the root's own probes, relative to the calibrated cost of these probes. */
const MAX_ROOT_PROBES_RATIO = 1.5

/**
 * Returns whether the comparison is useful: probes take a large share of the time of root calls, there are enough calls, and the calls are
 * short enough.
 */
export function isWorthComparing({ times, probes }: LatestCalls, nsPerTick: number): boolean {
  if (times.length < MIN_CALLS) return false
  const [ofCalls, ofProbes] = [times, probes].map((all) => all.reduce((sum, it) => sum + it, 0))
  const sorted = Float64Array.from(times).sort()
  const long = sorted[Math.floor(MIN_SHORT_CALLS_SHARE * (sorted.length - 1))]!
  return ofProbes! > MIN_PROBE_SHARE * (ofCalls! + ofProbes!) && long * nsPerTick < MAX_CALL_NANOS
}

/**
 * @param charged  calls with probes
 * @param bare     calls after the redefinition that removed the probes, in the order in which the calls ended
 * @param innerTicks  cost of the root's own probes per call
 * @returns null if there are too few calls, if the calls contain other probes (the root is recursive, or a class was loaded during the
 * measurement), or if the calls are shorter than the cost of the root's probes
 */
export function bareCalls(
  charged: LatestCalls,
  bare: LatestCalls,
  { innerTicks, nsPerTick }: { readonly innerTicks: number; readonly nsPerTick: number },
): BareCalls | null {
  const from = firstCompiled(bare)
  const latest = bare.times.slice(from)
  if (charged.times.length < MIN_CALLS || latest.length < MIN_CALLS) return null
  if (bare.probes.slice(from).some((it) => it > MAX_ROOT_PROBES_RATIO * innerTicks)) return null
  const [before, after] = [medianOf(charged.times), medianOf(latest)]
  if (after.low <= 0) return null
  const error = PROBE_ERROR * medianOf(charged.probes).median
  // The subtracted probe cost may exceed the duration of the call.
  const by = (charged: number, lesser: number, greater: number) => charged / (charged > 0 ? greater : lesser)
  return {
    calls: latest.length,
    bareNs: after.median * nsPerTick,
    chargedNs: before.median * nsPerTick,
    low: by(before.low - error, after.low, after.high),
    high: by(before.high + error, after.high, after.low),
  }
}

/** Returns the upper bound divided by the lower bound of the median duration of calls without probes. */
export function spreadOfBare(bare: LatestCalls): number {
  const { low, high } = medianOf(bare.times.slice(firstCompiled(bare)))
  return high / low
}

/** Returns the index at which the second half of the calls begins. The calls of the first half may have run before compilation. */
function firstCompiled(bare: LatestCalls): number {
  return bare.times.length >> 1
}

function medianOf(times: readonly number[]): { median: number; low: number; high: number } {
  const sorted = Float64Array.from(times).sort()
  const n = sorted.length
  const off = CERTAINTY * Math.sqrt(n)
  const at = (i: number): number => sorted[Math.min(n - 1, Math.max(0, i))]!
  return {
    median: (at((n - 1) >> 1) + at(n >> 1)) / 2,
    low: at(Math.floor(n / 2 - off) - 1),
    high: at(Math.ceil(n / 2 + off)),
  }
}
