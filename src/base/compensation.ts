// Taking the probes' own cost out of measured time (JFluid report, section 5.3).

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
 * @param calls     invocations of this node; 0 if it was entered before counting began anew
 * @param callsOut  calls this node made directly to instrumented methods, open ones included
 * @returns ticks. Negative when the method is shorter than the calibration error; views show that as
 *          "~0", the data keep the sign so that sums stay exact.
 */
export function exactTime(measured: number, calls: number, callsOut: number, c: Calibration): number {
  return measured - calls * c.innerTicks - callsOut * c.outerTicks
}
