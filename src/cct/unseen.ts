// Detects calls that probes missed, from samples. Probes miss a call if it began before its class was redefined, if its root call began
// before the probes were enabled, if a method handle or a JIT intrinsic runs in its place, or if another agent removed the probes. There
// are two independent checks:
//
// by place: a stack contains a frame of a timed method where the tree has no call of it. The result is a sampled row of a method with
// probes.
//
// by share: the tree has calls at that place, but the samples' share is clearly larger than the clock's:  K(e)/ΣK  >  S(e)/ΣS
//
// Rows found by share have too few calls and too little time. The missing time is in their callers and the sampled rows of these callers.

/** Column: samples of missed calls in a row's subtree. */
export const UNSEEN = 'unseen'

/** Minimum number of samples at a place; fewer prove nothing. */
export const MIN_UNSEEN = 3

/** Thresholds of the check by share: number of standard deviations, and minimum share of all samples. */
const DEVIATIONS = 4
const MIN_EXCESS = 0.1
/** Minimum ratio of the samples' share to the clock's share. */
const MIN_RATIO = 1.5

export interface Shares {
  /** Share of the clock's time, 0 to 1. */
  readonly clock: number
  /** Share of the samples' weight. */
  readonly samples: number
  /** Effective number of sampled root calls: as if all these calls had the same weight. */
  readonly calls: number
}

/** Returns the share of all samples that shows missed calls; 0 if chance or sampling bias can explain the difference. */
export function unseenByShare({ clock, samples, calls }: Shares): number {
  if (calls < 1) return 0
  const more = samples - clock
  const isClear = more > DEVIATIONS * deviation(clock, calls) + MIN_EXCESS && samples > MIN_RATIO * clock
  return isClear ? more : 0
}

/**
 * Returns the effective sample size of weighted samples: the number of equally weighted samples with the same information. At most the real
 * number.
 */
export function evenSamples(sum: number, sumOfSquares: number): number {
  return sumOfSquares === 0 ? 0 : sum ** 2 / sumOfSquares
}

/**
 * Returns the standard deviation of a share observed in `calls` calls, from the center of Wilson's interval. Not 0 for a share of 0 or 1.
 */
export function deviation(share: number, calls: number): number {
  if (calls === 0) return 0
  const middle = (share + 1 / (2 * calls)) / (1 + 1 / calls)
  return Math.sqrt((middle * (1 - middle)) / (calls + 1))
}
