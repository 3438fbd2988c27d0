// A flight recording beside a session with probes: it starts once, is polled, and is always stopped once its start has succeeded, also after a
// failed poll. Otherwise, the JVM would take samples until the recording expires.

import { debug } from '../../base/debug.ts'
import { messageOf } from '../../base/errors.ts'
import { answerInTime } from '../target-waits.ts'
import { BOUNDS, type FlightRecording } from './flight-recording.ts'

/** Timeout for stopping the recording. The code of the target is restored at the same time. */
const END_TIMEOUT_MS = 5_000

interface Target {
  readonly pid: number
  /** Returns whether the target still runs. */
  lives(): boolean
}

export class RecordingBeside {
  readonly #aborter = new AbortController()
  /** Promise of whether the start has succeeded; null before the start. */
  #started: Promise<boolean> | null = null
  #isPolled = false
  #polling: Promise<void> | null = null
  #stopping: Promise<void> | null = null
  #isStopped = false
  #hasEnded = false
  #problem: string | null = null

  constructor(
    private readonly recording: Pick<FlightRecording, 'start' | 'poll' | 'stop' | 'running'>,
    private readonly target: Target,
    private readonly endTimeoutMs = END_TIMEOUT_MS,
  ) {}

  get hasBegun(): boolean {
    return this.#started !== null
  }

  /** Reason why the samples are missing or incomplete; null if they are complete. */
  get problem(): string | null {
    return this.#problem
  }

  /** Warning if the recording may continue after the session. */
  get warnings(): string[] {
    const { running } = this.recording
    if (!this.#hasEnded || running === null || !this.target.lives()) return []
    const minutes = BOUNDS.durationSeconds / 60
    return [
      `the flight recording ${running} was not stopped: the JVM may continue sampling for up to ${minutes} minutes; stop it with: jcmd ${this.target.pid} JFR.stop name=${running}`,
    ]
  }

  /** Starts the recording, without waiting for the start. Does nothing after `end`. */
  begin(): void {
    if (!this.#aborter.signal.aborted) this.#started ??= this.#start()
  }

  async #start(): Promise<boolean> {
    const { signal } = this.#aborter
    try {
      await this.recording.start(signal)
      this.#isPolled = true
      return true
    } catch (error) {
      if (!signal.aborted) this.#failed(error)
      return false
    }
  }

  /** Reads the new samples. After an error, the recording is stopped. Never throws. */
  async poll(): Promise<void> {
    if (!this.#isPolled || this.#stopping !== null) return
    this.#polling ??= this.#poll()
    await this.#polling
  }

  async #poll(): Promise<void> {
    try {
      await this.recording.poll()
    } catch (error) {
      this.#failed(error)
      void this.#stop()
    }
    this.#polling = null
  }

  /** Stops the recording, or aborts its start, and reads the rest of its samples. Never throws. */
  async end(): Promise<void> {
    this.#aborter.abort()
    if (this.#started === null) return
    try {
      await answerInTime(this.#stop(), this.target.pid, this.endTimeoutMs)
    } catch (error) {
      debug.end?.(`flight recording beside the session: ${String(error)}`)
    }
    this.#hasEnded = true
  }

  /** Stops the recording after its start has ended. A second call repeats a stop that has failed. */
  #stop(): Promise<void> {
    const before = this.#stopping ?? this.#polling
    this.#stopping = (async () => {
      await before
      if (!(await this.#started) || this.#isStopped) return
      try {
        await this.recording.stop(this.target.lives())
        this.#isStopped = true
      } catch (error) {
        this.#failed(error)
      }
    })()
    return this.#stopping
  }

  #failed(error: unknown): void {
    debug.end?.(`flight recording beside the session: ${String(error)}`)
    // A JVM that has ended needs no explanation.
    if (this.target.lives()) this.#problem ??= messageOf(error)
  }
}
