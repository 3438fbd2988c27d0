// Detects calls that probes missed, from samples. Probes miss a call if it began before its class was redefined, if its root call began
// before the probes were enabled, if a method handle or a JIT intrinsic runs instead of the method, or if another agent removed the probes.
// There are two independent checks:
//
// By place: a stack contains a frame of a timed method, but the tree has no call of this method at this place. The method then gets a
// sampled row, although it has probes.
//
// By share: the tree has calls at this place, but the row's share of all samples is clearly larger than its share of all measured time:
//   K(e)/ΣK  >  S(e)/ΣS
//
// Rows found by share have too few calls and too little time. The missing time is in their callers and in sampled rows below these callers.

/** Name of the column with the number of samples of missed calls in a row's subtree. */
export const UNSEEN = 'unseen'

/** Minimum number of samples of a row. Fewer samples do not prove a missed call. */
export const MIN_UNSEEN = 3

/** Thresholds of the check by share: number of standard deviations, and minimum share of all samples. */
const DEVIATIONS = 4
const MIN_EXCESS = 0.1
/** Minimum ratio of a row's share of samples to its share of measured time. */
const MIN_RATIO = 1.5

export interface Shares {
  /** The row's share of all measured time, 0 to 1. */
  readonly clock: number
  /** The row's share of the weight of all samples, 0 to 1. */
  readonly samples: number
  /** Effective number of sampled root calls, see `evenSamples`. */
  readonly calls: number
}

/** Returns the share of all samples that belong to missed calls; 0 if chance or sampling bias can explain the difference. */
export function unseenByShare({ clock, samples, calls }: Shares): number {
  if (calls < 1) return 0
  const more = samples - clock
  const isClear = more > DEVIATIONS * deviation(clock, calls) + MIN_EXCESS && samples > MIN_RATIO * clock
  return isClear ? more : 0
}

/**
 * Returns the effective size of a set of weighted samples: the number of equally weighted samples with the same information. It is at most
 * the real number of samples.
 */
export function evenSamples(sum: number, sumOfSquares: number): number {
  return sumOfSquares === 0 ? 0 : sum ** 2 / sumOfSquares
}

/**
 * Returns the standard deviation of a share observed in `calls` calls, computed from the center of Wilson's interval. It is not 0 for a
 * share of 0 or 1.
 */
export function deviation(share: number, calls: number): number {
  if (calls === 0) return 0
  const middle = (share + 1 / (2 * calls)) / (1 + 1 / calls)
  return Math.sqrt((middle * (1 - middle)) / (calls + 1))
}
