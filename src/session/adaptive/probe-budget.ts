// Decides which of the counted methods are timed: methods with calls that are long compared with a probe. The total cost of their probes
// stays within the user's budget. Pure functions.

import { SHORT_CALL_NS } from '../../cct/merge-samples.ts'

/** Measured values of a method with counting or timing probes. */
export interface Counted {
  readonly id: number
  /** Number of calls of the method inside roots, per second. */
  readonly callsPerSecond: number
  /** Total time of the method as a share of the roots' time. */
  readonly share: number
}

export interface Costs {
  /** Probe cost of one call: t_I + t_O. */
  readonly nsPerCall: number
  /** Time that all threads together spend in the roots per second, in ns. */
  readonly rootNsPerSecond: number
  /** Share of the roots' time that probes may cost. */
  readonly budget: number
}

/**
 * Number of root calls per second above which only some calls are timed. Example: one thread calls a root of 40 ns 22 million times a
 * second. With probes it reaches 1.5 million calls, and the client needs half a processor to read them. Slower machines have lower rates.
 */
const HOT_ROOT = 250_000
const TIMED_OF_HOT = 64

/**
 * Returns how often a root call is timed.
 * @param callsPerSecond  rate of outermost root calls
 * @returns n: one in n calls is timed
 */
export function callsForOneTimed(callsPerSecond: number): number {
  return callsPerSecond > HOT_ROOT ? TIMED_OF_HOT : 1
}

/**
 * Returns the number of samples needed before methods are chosen. Methods are chosen only once. Of 40 samples, zero or one is in a method
 * with 2 % of the time, and zero or one is in a rare, long call. If samples arrive slowly, 40 and later 20 samples are enough: a root that
 * is called a few times per second yields two or three samples per second, and the user is waiting.
 * @param sampledMs  time since the first sample
 */
export function samplesNeeded(sampledMs: number): number {
  if (sampledMs < 8_000) return 200
  return sampledMs < 11_000 ? 40 : 20
}

/** On three servers, the median latency was at most three times its bare value four seconds after the first redefinition. */
const EARLIEST_WHILE_COLD_MS = 4_000
const SAMPLES_WHILE_COLD = 40
/** HotSpot compiles a method that was called 200 times (Tier3InvocationThreshold), so the code of each root call is compiled by then. */
const CALLS_WHILE_COLD = 300

/**
 * Returns whether methods may be chosen within ten seconds after the JVM has discarded its compiled code. Their redefinition then slows down
 * requests that are slow anyway, and not once more after ten seconds. With fewer root calls, most samples show interpreted code.
 * @param it.sampledMs  time since the first sample of the current rows
 */
export function mayChooseWhileCold(it: {
  readonly sampledMs: number
  readonly samples: number
  readonly rootCalls: number
}): boolean {
  return (
    it.sampledMs >= EARLIEST_WHILE_COLD_MS &&
    it.samples >= SAMPLES_WHILE_COLD &&
    it.rootCalls >= CALLS_WHILE_COLD
  )
}

/** Returns the mean duration of a call in ns; Infinity without calls. */
export function meanCallNs(
  { share, callsPerSecond }: Omit<Counted, 'id'>,
  { rootNsPerSecond }: Costs,
): number {
  return callsPerSecond > 0 ? (share * rootNsPerSecond) / callsPerSecond : Number.POSITIVE_INFINITY
}

/**
 * Returns whether the calls of a method are too short for a probe and for samples: probes would slow it down too much, since it is usually
 * inlined, and samples at safepoints show its time in other methods. False for a method without samples.
 */
export function isShort(counted: Omit<Counted, 'id'>, costs: Costs): boolean {
  const mean = meanCallNs(counted, costs)
  return mean > 0 && mean < SHORT_CALL_NS
}
/** Share of the budget that the probes may use after methods have been chosen or switched off. */
const AIM = 0.5

/**
 * Chooses the methods to be timed. A method without calls during the counting is timed, since it is usually rare and its probes then cost
 * nothing. If its probes become expensive later, `overBudget` switches the method off.
 * @returns ids to be timed; all other methods are switched off
 */
export function timedWithinBudget(counted: readonly Counted[], costs: Costs): number[] {
  const { nsPerCall, rootNsPerSecond, budget } = costs
  const most = budget * AIM * rootNsPerSecond
  const timed: number[] = []
  let spent = 0
  // Methods with the lowest cost per share come first.
  const price = ({ share, callsPerSecond }: Counted) => callsPerSecond / share
  for (const it of counted.filter((each) => each.share > 0).sort((a, b) => price(a) - price(b))) {
    const cost = it.callsPerSecond * nsPerCall
    if (isShort(it, costs) || spent + cost > most) continue
    spent += cost
    timed.push(it.id)
  }
  return timed
}

/**
 * Chooses methods to be switched off if all probes together cost too much. The most frequently called methods are switched off first, until
 * the cost is AIM of the budget.
 * @param limit  share of the budget above which methods are switched off: BRAKE, WHOLE or SURGE
 * @returns ids; empty if the cost is within the limit
 */
export function overBudget(
  timed: readonly Counted[],
  { nsPerCall, rootNsPerSecond, budget }: Costs,
  limit: number,
): number[] {
  let spent = timed.reduce((sum, it) => sum + it.callsPerSecond * nsPerCall, 0)
  if (spent <= limit * budget * rootNsPerSecond) return []
  const off: number[] = []
  for (const it of [...timed].sort((a, b) => b.callsPerSecond - a.callsPerSecond)) {
    if (spent <= AIM * budget * rootNsPerSecond) break
    spent -= it.callsPerSecond * nsPerCall
    off.push(it.id)
  }
  return off
}

/**
 * Additional cost of a call of a switched-off method: the probes call two methods that check the mode (decision 125). The probes also
 * prevent inlining by the JIT compiler: a JSON parser took 1.7 times as long with five switched-off methods, `fib` 3.7 times.
 */
const IDLE_CALL_NANOS = 6

/**
 * Returns whether switched-off methods are called so often that their original code must be restored.
 * @param off  methods with their call rates from the counting
 */
export function idleProbesOverBudget(off: readonly Counted[], { rootNsPerSecond, budget }: Costs): boolean {
  const calls = off.reduce((sum, it) => sum + it.callsPerSecond, 0)
  return rootNsPerSecond > 0 && calls * IDLE_CALL_NANOS > AIM * budget * rootNsPerSecond
}

/** Methods are switched off if the probes use more than this share of the budget over some seconds (`BudgetWatch`). */
export const BRAKE = 0.85
/** The same share when the rows are older than some seconds. */
export const WHOLE = 1
/** Methods are switched off if the probes use more than this multiple of the budget over half a second. */
export const SURGE = 2
