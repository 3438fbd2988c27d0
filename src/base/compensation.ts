// Taking the probes' own cost out of measured time (JFluid report, section 5.3): all that is done with t_I and t_O.
// All in ticks, with fractions and signs: where a time must not be negative, who shows it says so.

/**
 * What a pair of probes costs, in ticks; need not be whole. Between its two time stamps lies the
 * inner time, charged to the method itself; the rest, the outer time, is charged to its caller.
 */
export interface Calibration {
  readonly innerTicks: number
  readonly outerTicks: number
}

/** With how far off the two may be: what most runs of the calibration were above the best. */
export interface MeasuredCalibration extends Calibration {
  readonly spread: Calibration
  /** What one reading of the clock takes; 0 where none is read. */
  readonly readTicks: number
}

/**
 * Net time of a CCT node with the profiler's own cost removed.
 *
 *     t_exact = t_meas - calls * t_I - callsOut * t_O        (JFluid report, section 5.3)
 *
 * The report writes this for one invocation; a node is the sum of `calls` of them.
 *
 * @param measured  ticks between this node's time stamps, callees excluded
 * @param calls     invocations of this node; 0 if it was entered before the last reset
 * @param callsOut  calls this node made directly to instrumented methods, open ones included
 * @returns ticks. Negative when the method is shorter than the calibration error; views show that as
 *          "~0", the data keep the sign so that sums stay exact.
 */
export function exactTime(measured: number, calls: number, callsOut: number, c: Calibration): number {
  return measured - calls * c.innerTicks - callsOut * c.outerTicks
}

/** What `exactTime` takes out, for who takes it out event by event; of a single call, t_I or t_O to the last bit. */
export function owedTicks(calls: number, callsOut: number, c: Calibration): number {
  return calls * c.innerTicks + callsOut * c.outerTicks
}

/**
 * What whole pairs of probes cost that lie in one time, t_I and t_O: of calls that are part of their caller, as in a wait,
 * or of calls with all that they call.
 *
 * @param pairs  a half is one probe: in a handler, which no call stands for
 */
export function pairTicks(pairs: number, c: Calibration): number {
  return pairs * (c.innerTicks + c.outerTicks)
}

/**
 * What probes cost between the time stamps of a root's call, callees included. Its own t_O lies outside.
 *
 * @param halves  of pairs of probes, the root's own among them
 */
export function rootProbeTicks(halves: number, c: Calibration): number {
  return pairTicks(halves / 2, c) - c.outerTicks
}
