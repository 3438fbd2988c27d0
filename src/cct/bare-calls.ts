// How far times can be trusted where calls are dense: what calls of a root are charged, against what they take without probes below.
// Pure.

import type { LatestCalls } from './root-calls.ts'

/** Calls of a root at the end of a recording, with probes in what they call and without. */
export interface BareCalls {
  /** Without. */
  readonly calls: number
  /** Their median. */
  readonly bareNs: number
  /** The median of those before them, which had probes, after what these cost was taken out: below zero where that is too much. */
  readonly chargedNs: number
  /**
   * Charged / bare at least and at most: by the order of the calls, each median is between two of them with 95 % certainty, and what was
   * taken out for probes is known to a tenth.
   */
  readonly low: number
  readonly high: number
}

/** Below that, the median has no bounds that tell anything. */
const LEAST_CALLS = 16
/** Half of the width of the interval of a median, by the root of how many there are: two standard deviations of a binomial. */
const CERTAINTY = 0.98
/** Part of the time of root calls that probes take: where it is less, the error of what is taken out for them is less, too. */
const LEAST_PROBES = 0.1
/** Most calls are shorter: of those that take long, too few would begin and end in a second, and of these the shorter ones. */
const LONGEST_NS = 50e6
const MOST_ARE = 0.9
/** Part of what is taken out for probes that may be too much or too little: of `fib`, the same within a second, from session to session. */
const PROBE_ERROR = 0.1
/** What probes take in a call of the root without any below it, at most, by what they should. */
const ROOT_ALONE = 1.5

/** Whether probes take so much of the time of root calls that a look is worth it, and calls are many and short enough for one. */
export function isWorthComparing({ times, probes }: LatestCalls, nsPerTick: number): boolean {
  if (times.length < LEAST_CALLS) return false
  const [ofCalls, ofProbes] = [times, probes].map((all) => all.reduce((sum, it) => sum + it, 0))
  const sorted = Float64Array.from(times).sort()
  const long = sorted[Math.floor(MOST_ARE * (sorted.length - 1))]!
  return ofProbes! > LEAST_PROBES * (ofCalls! + ofProbes!) && long * nsPerTick < LONGEST_NS
}

/**
 * @param charged  of calls with probes
 * @param bare     of calls without, since code was redefined, in the order in which they ended
 * @param innerTicks  what the probes of a root take in a call
 * @returns null if there are too few, if there are other probes in them (of a root that calls itself, or of a class that was loaded
 *   meanwhile), or if they are shorter than what the probes of the root cost
 */
export function bareCalls(
  charged: LatestCalls,
  bare: LatestCalls,
  { innerTicks, nsPerTick }: { readonly innerTicks: number; readonly nsPerTick: number },
): BareCalls | null {
  const from = firstCompiled(bare)
  const latest = bare.times.slice(from)
  if (charged.times.length < LEAST_CALLS || latest.length < LEAST_CALLS) return null
  if (bare.probes.slice(from).some((it) => it > ROOT_ALONE * innerTicks)) return null
  const [before, after] = [medianOf(charged.times), medianOf(latest)]
  if (after.low <= 0) return null
  const error = PROBE_ERROR * medianOf(charged.probes).median
  // What is taken out for probes may be more than a call has.
  const by = (charged: number, lesser: number, greater: number) => charged / (charged > 0 ? greater : lesser)
  return {
    calls: latest.length,
    bareNs: after.median * nsPerTick,
    chargedNs: before.median * nsPerTick,
    low: by(before.low - error, after.low, after.high),
    high: by(before.high + error, after.high, after.low),
  }
}

/** The upper bound of the median of calls without probes by its lower bound. */
export function spreadOfBare(bare: LatestCalls): number {
  const { low, high } = medianOf(bare.times.slice(firstCompiled(bare)))
  return high / low
}

/** The earlier half of the calls may not have been compiled yet. */
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
