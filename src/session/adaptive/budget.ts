// Decides which of the counted methods are timed: methods whose calls are long enough for a probe, while all together stay within the
// user's budget. Pure functions.

/** Counts of a method with probes. */
export interface Counted {
  readonly id: number
  /** Calls inside roots per second. */
  readonly callsPerSecond: number
  /** Total time as a share of the roots' time. */
  readonly share: number
}

export interface Costs {
  /** Probe cost of one call: t_I + t_O. */
  readonly nsPerCall: number
  /** Time that threads spend in the roots per second, in ns. */
  readonly rootNsPerSecond: number
  /** Share of the roots' time that probes may cost. */
  readonly budget: number
}

/**
 * Number of root calls per second above which not every call is timed. A root of 40 ns that one thread calls 22 million times a second
 * reaches 1.5 million calls with probes, and the client needs half a processor to read them. Slower machines have lower rates.
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
 * Returns the number of samples needed before methods are chosen, which is done once. Among 40 samples, a method with 2 % of the time has
 * only zero or one sample, and so has a rare and long call. If samples arrive slowly, 40 and later 20 are accepted: a root that is called a
 * few times per second yields two or three samples per second, and the user is waiting.
 * @param sampledMs  time since the first sample
 */
export function samplesNeeded(sampledMs: number): number {
  if (sampledMs < 8_000) return 200
  return sampledMs < 11_000 ? 40 : 20
}

/** Minimum mean duration of a timed call. Shorter methods are usually inlined, so probes would slow them down too much. */
const MIN_CALL_NANOS = 2_000
/** Share of the budget that is used when methods are chosen or switched off. */
const AIM = 0.5

/**
 * Chooses the methods to be timed. A method without calls during the counting is timed, since it is usually rare and its probes then cost
 * nothing. If the probes cost much later, `overBudget` switches the method off.
 * @returns ids to be timed; all other methods are switched off
 */
export function timedWithinBudget(
  counted: readonly Counted[],
  { nsPerCall, rootNsPerSecond, budget }: Costs,
): number[] {
  const most = budget * AIM * rootNsPerSecond
  const timed: number[] = []
  let spent = 0
  // Methods with the lowest cost per share come first.
  const price = ({ share, callsPerSecond }: Counted) => callsPerSecond / share
  for (const it of counted.filter((each) => each.share > 0).sort((a, b) => price(a) - price(b))) {
    const cost = it.callsPerSecond * nsPerCall
    if ((it.share * rootNsPerSecond) / it.callsPerSecond < MIN_CALL_NANOS || spent + cost > most) continue
    spent += cost
    timed.push(it.id)
  }
  return timed
}

/**
 * Chooses methods to be switched off if all probes together cost too much, most frequently called first.
 * @returns ids; empty if the cost is within the budget
 */
export function overBudget(
  timed: readonly Counted[],
  { nsPerCall, rootNsPerSecond, budget }: Costs,
): number[] {
  let spent = timed.reduce((sum, it) => sum + it.callsPerSecond * nsPerCall, 0)
  if (spent <= BRAKE * budget * rootNsPerSecond) return []
  const off: number[] = []
  for (const it of [...timed].sort((a, b) => b.callsPerSecond - a.callsPerSecond)) {
    if (spent <= AIM * budget * rootNsPerSecond) break
    spent -= it.callsPerSecond * nsPerCall
    off.push(it.id)
  }
  return off
}

/**
 * Cost of a call of a switched-off method: two calls that check the mode (decision 125). The probe also prevents inlining by the JIT
 * compiler: a JSON parser took 1.7 times as long with five such methods, `fib` 3.7 times.
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

/** Share of the budget above which methods are switched off. */
const BRAKE = 0.85
