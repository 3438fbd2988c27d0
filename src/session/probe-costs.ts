// The cost of the probes. Schemes a and b measure it before they record. Scheme adaptive measures it while it records: on a busy server the
// JVM needs some seconds to compile the measured code, and the user waits for the first call.

import { type MeasuredCalibration, pairTicks } from '../base/compensation.ts'
import { debug } from '../base/debug.ts'
import type { Agent } from '../wire/agent.ts'
import { NO_CALIBRATION } from './preparation.ts'
import type { Recorder } from './recorder/recorder.ts'

/** Duration of one measurement. Meanwhile the agent answers no other request. */
const MEASUREMENT_MS = 5
const MEASURED_BLOCKS = 1

export class ProbeCosts {
  readonly areMeasuredLater: boolean
  #calibration: MeasuredCalibration | null
  /** Cost of a call with probes by the best measurement while recording, ticks. */
  #lowest = Number.POSITIVE_INFINITY

  /** @param measured  null if the cost is measured while the session records */
  constructor(
    private readonly agent: Pick<Agent, 'calibrate'>,
    private readonly recorder: Pick<Recorder, 'probesCost'>,
    measured: MeasuredCalibration | null,
  ) {
    this.#calibration = measured
    this.areMeasuredLater = measured === null
  }

  /** The latest result: zero until the second measurement while recording. */
  get calibration(): MeasuredCalibration {
    return this.#calibration ?? NO_CALIBRATION
  }

  /**
   * Measures the cost while the session records. The first measurement runs in the interpreter and is an upper bound only: it makes the JVM
   * compile the measured code. Of all later measurements the lowest is used: by the recorder for calls that end later, and by the next tree
   * for all calls.
   */
  async measure(): Promise<void> {
    const found = await this.agent.calibrate(MEASUREMENT_MS, MEASURED_BLOCKS)
    const { innerTicks, outerTicks, readTicks } = found
    debug.attach?.(`probes: t_I ${innerTicks.toFixed(1)}, t_O ${outerTicks.toFixed(1)} ticks`)
    if (this.#calibration === null) {
      this.#calibration = { ...NO_CALIBRATION, spread: { innerTicks, outerTicks }, readTicks }
      return
    }
    const pair = pairTicks(1, found)
    if (pair >= this.#lowest) return
    this.#lowest = pair
    this.#calibration = found
    this.recorder.probesCost(found)
  }
}
