// Which of the methods that have just been counted are timed: those whose calls are long enough for a probe, while all of these
// together stay within what the user allows. Pure.

/** Of a method with probes. */
export interface Counted {
  readonly id: number
  /** Calls inside roots, a second. */
  readonly callsPerSecond: number
  /** Of the time of the roots, with what it calls. */
  readonly share: number
}

export interface Costs {
  /** t_I + t_O. */
  readonly nsPerCall: number
  /** Time that threads spend in the roots in a second, in ns. */
  readonly rootNsPerSecond: number
  /** Part of the time of the roots that probes may cost. */
  readonly budget: number
}

/**
 * Calls of roots in a second that are too many to time each of them. A root of 40 ns that is called 22 million times a second by one
 * thread is called 1.5 million times with probes, and a client reads that with half a processor; on slower machines it is fewer.
 */
const HOT_ROOT = 250_000
const TIMED_OF_HOT = 64

/**
 * @param callsPerSecond  of roots, from outside
 * @returns of how many calls of roots one is timed
 */
export function callsForOneTimed(callsPerSecond: number): number {
  return callsPerSecond > HOT_ROOT ? TIMED_OF_HOT : 1
}

/**
 * Before methods are chosen, which is done once. Of 40 samples a call that is rare and takes long, or a method with 2 % of the time, has
 * none or one. Where samples come slowly, 40 and then 20 have to do: a root that is called a few times a second gives two or three in a
 * second, and a user waits.
 *
 * @param sampledMs  since the first sample
 */
export function samplesNeeded(sampledMs: number): number {
  if (sampledMs < 8_000) return 200
  return sampledMs < 11_000 ? 40 : 20
}

/** Below that, a method is what the compilers inline: its probes would cost it more than they tell. */
const LEAST_NS = 2_000
/** Where a budget is used to that part, it is held. */
const AIM = 0.5

/**
 * A method that was not called while it was counted is timed: it is rare, as a rule, so that its probes cost nothing. If they cost much
 * later, `tooDense` finds it.
 *
 * @returns ids that are timed; the others are switched off
 */
export function worthTiming(
  counted: readonly Counted[],
  { nsPerCall, rootNsPerSecond, budget }: Costs,
): number[] {
  const most = budget * AIM * rootNsPerSecond
  const timed: number[] = []
  let spent = 0
  // What costs least for what it tells comes first.
  const price = ({ share, callsPerSecond }: Counted) => callsPerSecond / share
  for (const it of counted.filter((each) => each.share > 0).sort((a, b) => price(a) - price(b))) {
    const cost = it.callsPerSecond * nsPerCall
    if ((it.share * rootNsPerSecond) / it.callsPerSecond < LEAST_NS || spent + cost > most) continue
    spent += cost
    timed.push(it.id)
  }
  return timed
}

/**
 * Which timed methods are switched off because all together cost too much, densest first.
 *
 * @returns ids; empty while there is no need
 */
export function tooDense(timed: readonly Counted[], { nsPerCall, rootNsPerSecond, budget }: Costs): number[] {
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
 * What a call costs of a method that is switched off: two calls that find that out (decision 125). It also keeps the JIT compiler from
 * inlining: a JSON parser took 1.7 times as long with five such methods, `fib` 3.7 times.
 */
const IDLE_NS = 6

/**
 * Whether methods that are switched off are called so often that they need their own code back.
 *
 * @param off  with calls of when they were counted
 */
export function costIdle(off: readonly Counted[], { rootNsPerSecond, budget }: Costs): boolean {
  const calls = off.reduce((sum, it) => sum + it.callsPerSecond, 0)
  return rootNsPerSecond > 0 && calls * IDLE_NS > AIM * budget * rootNsPerSecond
}

/** Part of the budget from which methods are switched off. */
const BRAKE = 0.85
