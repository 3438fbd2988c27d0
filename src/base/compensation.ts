// Subtracts the cost of the probes from measured time (JFluid report, section 5.3). No other file subtracts t_I or t_O. All times are in
// ticks, fractional and signed. Display code replaces negative times where a negative time makes no sense.

/**
 * Cost of a pair of probes, in ticks; may be fractional. The inner time lies between the two time stamps and is charged to the method
 * itself. The rest, the outer time, is charged to its caller.
 */
export interface Calibration {
  readonly innerTicks: number
  readonly outerTicks: number
}

/** Calibration with error bounds: the amount by which most calibration runs exceeded the best run. */
export interface MeasuredCalibration extends Calibration {
  readonly spread: Calibration
  /** Cost of one clock read; 0 if the probes read no clock. */
  readonly readTicks: number
}

/**
 * Returns the net time of a CCT node, without the profiler's own cost.
 *
 *     t_exact = t_meas - calls * t_I - callsOut * t_O        (JFluid report, section 5.3)
 *
 * The report gives this formula for one invocation; a node is the sum of `calls` invocations.
 *
 * @param measured  ticks between this node's time stamps, callees excluded
 * @param calls     invocations of this node; 0 if it was entered before the last reset
 * @param callsOut  direct calls from this node to instrumented methods, unfinished calls included
 * @returns ticks. Negative if the method is shorter than the calibration error. Views show a negative time as "~0"; the data keep the sign
 * so that sums stay exact.
 */
export function exactTime(measured: number, calls: number, callsOut: number, c: Calibration): number {
  return measured - calls * c.innerTicks - callsOut * c.outerTicks
}

/**
 * Returns the ticks that `exactTime` subtracts, for code that subtracts event by event. For a single call the result is exactly t_I or t_O.
 */
export function owedTicks(calls: number, callsOut: number, c: Calibration): number {
  return calls * c.innerTicks + callsOut * c.outerTicks
}

/**
 * Returns the cost of whole pairs of probes (t_I + t_O) inside one time span. Used for time spans that include the time of callees, such as
 * a wait or a root call.
 * @param pairs  number of pairs. 0.5 is a single probe, such as the probe in an exception handler, which belongs to no call
 */
export function pairTicks(pairs: number, c: Calibration): number {
  return pairs * (c.innerTicks + c.outerTicks)
}

/**
 * Returns the probe cost between the time stamps of a root call, callees included. The root's own t_O lies outside.
 * @param halves  number of single probes, the root's own two included
 */
export function rootProbeTicks(halves: number, c: Calibration): number {
  return pairTicks(halves / 2, c) - c.outerTicks
}
