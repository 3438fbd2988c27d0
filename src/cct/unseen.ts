// Calls that probes should have seen and did not, as samples show them. A call can be without its probes: it began before its class was
// redefined, the root call around it began before probes told anything, a method handle or a compiler's own code runs in its place, or
// another agent took the probes out. Two checks, each on its own:
//
//   by place: a stack passes a frame of a timed method where the tree has no call of it: a sampled row, of a method that has probes.
//   by share: at its place the tree has calls, and samples show clearly more of them than the clock:  K(e)/ΣK  >  S(e)/ΣS
//
// Rows of the second kind have too few calls and too little time: that time is in their callers and the sampled rows of these.

/** The column: of a row, samples that show such calls, at or below it. */
export const UNSEEN = 'unseen'

/** Fewer samples at a place show nothing. */
export const LEAST_UNSEEN = 3

/** By share: so many standard deviations, and that part of all samples besides. */
const DEVIATIONS = 4
const LEAST_PART = 0.1
/** And by so much more than the clock has. */
const TIMES = 1.5

export interface Shares {
  /** Of what the clock has, 0 to 1. */
  readonly clock: number
  /** Of the weight of the samples. */
  readonly samples: number
  /** In so many calls of roots they were taken, each of the same weight. */
  readonly calls: number
}

/** The part of all samples that show calls which probes did not see; 0 where chance, or what bends samples elsewhere, would do. */
export function unseenByShare({ clock, samples, calls }: Shares): number {
  if (calls < 1) return 0
  const more = samples - clock
  const isClear = more > DEVIATIONS * deviation(clock, calls) + LEAST_PART && samples > TIMES * clock
  return isClear ? more : 0
}

/** How many samples of one weight tell as much as those of such weights: no more than there are. */
export function evenSamples(sum: number, sumOfSquares: number): number {
  return sumOfSquares === 0 ? 0 : sum ** 2 / sumOfSquares
}

/** Standard deviation of a share that was seen in so many calls, by the middle of Wilson's interval: not 0 for a share of 0 or 1. */
export function deviation(share: number, calls: number): number {
  if (calls === 0) return 0
  const middle = (share + 1 / (2 * calls)) / (1 + 1 / calls)
  return Math.sqrt((middle * (1 - middle)) / (calls + 1))
}
