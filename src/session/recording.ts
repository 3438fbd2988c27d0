// One recording of a session: its roots, and the parts connected for them. Each change of the roots of a running session begins another
// recording (`Session.changeRoots`).

import { TargetStopped } from '../attach/admission.ts'
import { readTargetProcess } from '../attach/target-process.ts'
import { EX_TEMPFAIL, JfluidError } from '../base/errors.ts'
import { LinkLost } from '../wire/link.ts'
import { beginAtRoots } from './adaptive/beginning-with-roots.ts'
import { Controller } from './adaptive/controller.ts'
import { beginBelowRoots } from './beginning.ts'
import type { OpenDoor } from './doors/door.ts'
import { SessionEnd } from './ending.ts'
import { Engine } from './engine.ts'
import { Preparation, type Prepared } from './preparation.ts'
import { Pulse } from './pulse.ts'
import { Questions } from './questions.ts'
import { eventsOf, type SessionRequest } from './session-options.ts'
import { Span } from './span.ts'
import { whileRunning, whyLinkWasLost } from './target-waits.ts'

/** Thrown if the target ended the session before an event was recorded, and continues to run. */
export class LeftBeforeRecording extends JfluidError {
  static sample = () => new LeftBeforeRecording(4711, 'the client did not answer for 10 s')
  readonly exitCode = EX_TEMPFAIL
  readonly hint = 'Try again. The program runs on with its own code.'
  constructor(pid: number, reason: string) {
    super(`JVM ${pid} ended the session before the recording began: ${reason}`)
  }
}

/** Receives the engine before the target's classes are read, and copies data from the previous recording. */
export type TakeOver = (engine: Engine) => void

export class Recording {
  readonly engine: Engine
  readonly span: Span
  readonly pulse: Pulse
  readonly end: SessionEnd
  /** Controller of scheme adaptive; null with other schemes. */
  readonly controller: Controller | null

  private constructor(
    prepared: Prepared,
    /** The session that the user has requested. */
    readonly request: SessionRequest,
  ) {
    this.engine = new Engine(prepared, (error) => this.#noteUnanswered(error))
    this.span = new Span(prepared.clock)
    this.controller = this.engine.arming === null ? null : new Controller(this.engine, this.span)
    this.pulse = new Pulse(this.engine, this.controller)
    this.end = new SessionEnd(this.engine, this.pulse, this.span)
    if (!prepared.pausesKnown && eventsOf(prepared.options).tellsTime)
      this.engine.warnings.add(
        prepared.door.elsewhere === undefined
          ? 'this JVM has no safepoint counter (hsperfdata): times include pauses for redefinitions'
          : 'the safepoint counter of this JVM cannot be read from here: times include pauses for redefinitions',
      )
  }

  /**
   * Configures the agent behind an open door and begins to record.
   *
   * @param onPhase  receives the name of each phase, for progress
   * @throws RootNotFound and other errors of the revealer; the target is then as before
   * @throws TargetStopped if the target is stopped during the start; the target is restored once it runs again
   */
  static async start(
    door: OpenDoor,
    options: SessionRequest,
    onPhase: (phase: string) => void,
    takeOver: TakeOver = () => {},
  ): Promise<Recording> {
    const preparation = new Preparation(door, options)
    let recording: Recording | undefined
    const target = door.pid === null ? undefined : readTargetProcess(door.pid)
    const whyLeft = (lost: string) => recording?.end.whyLeft(lost) ?? whyLinkWasLost(target, lost)
    try {
      return await whileRunning(door.pid, onPhase, async (onPhase) => {
        recording = new Recording(await preparation.prepare(onPhase), options)
        takeOver(recording.engine)
        await recording.#begin(onPhase)
        return recording
      })
    } catch (error) {
      const why = error instanceof LinkLost ? await whyLeft(error.reason) : null
      await preparation.abandon(!(error instanceof TargetStopped))
      throw why === null ? error : new LeftBeforeRecording(recording?.engine.pid ?? door.pid ?? 0, why)
    }
  }

  async #begin(onPhase: (phase: string) => void): Promise<void> {
    const { agent, recorder, rootWatch } = this.engine
    recorder.onScarce = () => void agent.reclaim().catch(() => {})
    this.end.listen()
    new Questions(this.engine, this.span).listen((reason) => this.end.byAgent(reason))
    const { scheme, seen = [] } = this.engine.options
    const recording = () => {
      this.span.begin()
      this.engine.recorder.courseBegins()
    }
    if (scheme === 'adaptive') {
      const counted = await beginAtRoots(this.engine, onPhase, recording)
      if (counted.length > 0) this.controller?.armed(counted, seen)
    } else await beginBelowRoots(this.engine, this.pulse, onPhase, recording)
    await rootWatch.look()
    this.pulse.start()
    onPhase('recording')
  }

  #noteUnanswered(error: unknown): void {
    if (this.end.isStopping || error instanceof LinkLost) return
    this.engine.warnings.add(`a request of the JVM was not answered: ${String(error)}`)
  }
}
