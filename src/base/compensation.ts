// Subtracts the cost of the probes from measured time (JFluid report, section 5.3). No other file subtracts t_I or t_O. All times are in
// ticks, and may be fractional or negative. Display code replaces negative times where a negative time makes no sense.

/**
 * Cost of an entry probe and an exit probe together, in ticks; may be fractional. The inner time t_I, between the two time stamps, is part
 * of the method's measured time. The remaining cost, the outer time t_O, is part of the caller's measured time.
 */
export interface Calibration {
  readonly innerTicks: number
  readonly outerTicks: number
}

/** Calibration with error bounds. An error bound is the amount by which most calibration runs exceeded the best run. */
export interface MeasuredCalibration extends Calibration {
  readonly spread: Calibration
  /** Cost of one clock read; 0 if the probes read no clock. */
  readonly readTicks: number
}

/**
 * Returns the time of a CCT node without the cost of the probes.
 *
 *     t_exact = t_meas - calls * t_I - callsOut * t_O        (JFluid report, section 5.3)
 *
 * The report contains this formula for one invocation. Here it is applied to a node, which is the sum of `calls` invocations.
 *
 * @param measured  ticks between this node's time stamps, without the ticks of callees
 * @param calls     number of invocations of this node; 0 if the node was entered before the last reset
 * @param callsOut  number of direct calls from this node to instrumented methods, including unfinished calls
 * @returns ticks; negative if the true time is less than the calibration error. Views show a negative time as "~0". The data contain the
 * negative number, so that sums are correct.
 */
export function exactTime(measured: number, calls: number, callsOut: number, c: Calibration): number {
  return measured - calls * c.innerTicks - callsOut * c.outerTicks
}

/**
 * Returns the ticks that `exactTime` subtracts, for code that subtracts them for each event. For a single call the result is exactly t_I
 * or t_O.
 */
export function owedTicks(calls: number, callsOut: number, c: Calibration): number {
  return calls * c.innerTicks + callsOut * c.outerTicks
}

/**
 * Returns the total cost of pairs of probes (t_I + t_O each) that ran during a time span. Used for time spans that include the time of
 * callees, such as a wait or a root call.
 * @param pairs  number of pairs. 0.5 stands for a single probe, such as the probe in an exception handler, which belongs to no call
 */
export function pairTicks(pairs: number, c: Calibration): number {
  return pairs * (c.innerTicks + c.outerTicks)
}

/**
 * Returns the cost of all probes between the time stamps of a root call, including the probes of callees. The root's own t_O is not between
 * its time stamps.
 * @param halves  number of single probes, including the two probes of the root itself
 */
export function rootProbeTicks(halves: number, c: Calibration): number {
  return pairTicks(halves / 2, c) - c.outerTicks
}
