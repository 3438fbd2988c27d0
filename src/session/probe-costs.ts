// The cost of the probes. It is measured before the recording if scheme adaptive was not chosen at once, and with scheme adaptive while the
// session records: a busy JVM needs some seconds to compile the measured code, and the user waits for the first call (decision 158).

import { type MeasuredCalibration, pairTicks } from '../base/compensation.ts'
import { debug } from '../base/debug.ts'
import type { Agent } from '../wire/agent.ts'
import { NO_CALIBRATION } from './preparation.ts'
import type { Recorder } from './recorder/recorder.ts'

/** Duration of one measurement. Meanwhile the agent answers no other request. */
const MEASUREMENT_MS = 5
/** Minimum number of measured blocks: a block in which the thread has lost its processor must not be the only one. */
const MEASURED_BLOCKS = 10
/**
 * Maximum cost of compiled probes besides their two clock reads, ns. Measured: 2 to 25 ns in compiled code, 60 to 80 ns in code that counts
 * its executions (tier 3), 1,300 ns in the interpreter.
 */
const COMPILED_NANOS = 50

export class ProbeCosts {
  #calibration: MeasuredCalibration | null
  /** Cost of a call with probes that most blocks of the best measurement did not exceed, ticks. */
  #lowest = Number.POSITIVE_INFINITY

  /** @param measured  null if the cost was not measured before */
  constructor(
    private readonly agent: Pick<Agent, 'calibrate'>,
    private readonly recorder: Pick<Recorder, 'probesCost'>,
    measured: MeasuredCalibration | null,
    private readonly toNs: (ticks: number) => number,
  ) {
    this.#calibration = measured
    if (measured !== null) this.#lowest = usualTicks(measured)
  }

  /** The best result. Zero before the first result, and after a first result that is an upper bound only. */
  get calibration(): MeasuredCalibration {
    return this.#calibration ?? NO_CALIBRATION
  }

  /**
   * Measures the cost while the session records. If the measured code was not compiled at the first measurement, the result is an upper
   * bound only. Of all other results the best is used: by the recorder for calls that end later, and by the next tree for all calls. The
   * best result is the one with the lowest cost plus spread: the lowest cost may be from a few blocks at the end of a measurement. The cost
   * of a clock read is the lowest of all results.
   */
  async measure(): Promise<void> {
    const found = await this.agent.calibrate(MEASUREMENT_MS, MEASURED_BLOCKS)
    const { innerTicks, outerTicks } = found
    const readTicks = Math.min(found.readTicks, this.#calibration?.readTicks ?? Number.POSITIVE_INFINITY)
    debug.attach?.(`probes: t_I ${innerTicks.toFixed(1)}, t_O ${outerTicks.toFixed(1)} ticks`)
    if (this.#calibration === null && this.toNs(pairTicks(1, found) - 2 * readTicks) > COMPILED_NANOS) {
      this.#calibration = { ...NO_CALIBRATION, spread: { innerTicks, outerTicks }, readTicks }
      return
    }
    const usual = usualTicks(found)
    const isBest = usual < this.#lowest
    this.#calibration = { ...(isBest ? found : this.calibration), readTicks }
    if (!isBest) return
    this.#lowest = usual
    this.recorder.probesCost(found)
  }
}

function usualTicks(cost: MeasuredCalibration): number {
  return pairTicks(1, cost) + pairTicks(1, cost.spread)
}
