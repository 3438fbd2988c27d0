// Ends a session: the client detaches, the target ends the session, or the target's process ends.

import { readTargetProcess, stillRuns, type TargetProcess } from '../attach/target-process.ts'
import { debug, msText, some } from '../base/debug.ts'
import { EX_TEMPFAIL, JfluidError } from '../base/errors.ts'
import type { BareCalls } from '../cct/bare-calls.ts'
import { ENDED_DISMISSED, ENDED_SILENT, ENDED_STOPPED } from '../events/ring-layout.ts'
import type { DetachFacts } from '../profile/detach-facts.ts'
import { CLOSED_BY_US, LINK_CLOSED, LinkLost } from '../wire/link.ts'
import type { DetachReport } from '../wire/messages.ts'
import { callsWithoutProbes, mayCompare, NotSteady } from './bare-calls.ts'
import type { Engine } from './engine.ts'
import { Proof } from './proof.ts'
import type { Pulse } from './pulse.ts'
import { eventsOf } from './session-options.ts'
import type { Span } from './span.ts'
import {
  answerInTime,
  DETACH_TIMEOUT_MS,
  REMOTE_DETACH_TIMEOUT_MS,
  TargetSilent,
  whyLinkWasLost,
} from './target-waits.ts'

/**
 * Texts for the codes with which the target ends a session: see Session.lookAtClient() and Reader.listen() in the agent. If possible, the
 * agent also sends a text.
 */
const WHY_ENDED = new Map([
  [ENDED_STOPPED, 'the client was stopped or killed'],
  [ENDED_SILENT, 'the client did not answer for 10 s'],
  [ENDED_DISMISSED, 'it was ended by jfluid detach'],
])

/** Timeout of the comparison of calls with and without probes: it needs one redefinition plus 1.5 s of calls. */
const COMPARE_TIMEOUT_MS = 3_000

/** Metaspace that counts as full. HotSpot commits metaspace in granules of 64 KiB. */
const FULL_METASPACE_BYTES = 128 << 10
const METASPACE_TIMEOUT_MS = 2_000

const SILENT_ELSEWHERE = 'no message from the client for some seconds'

/**
 * How a session ended, and the state of its target.
 *
 * - `detached`: the client detached, and the target has its original code back;
 * - `target silent`: the client left because the target did not answer; the agent detaches as soon as the target runs again, or as soon as
 *   the target has free metaspace if it lacks metaspace;
 * - `by itself`: the target ended the session and continues to run; the rest of its execution is not in the profile;
 * - `target ended`: its process has ended, or is about to end.
 */
export type Ending =
  | { readonly how: 'detached' | 'target ended' }
  | { readonly how: 'target silent'; readonly lacksMetaspace?: boolean }
  | { readonly how: 'by itself'; readonly reason: string; readonly exitCode: number }

function noMetaspaceText(pid: number): string {
  return `JVM ${pid} has no free metaspace, which the restoration of its code needs; its agent restores the code when metaspace is free`
}

export class SessionEnd {
  /** How the session ended; null while it runs. */
  ending: Ending | null = null
  /** Whether the recording is incomplete. */
  isTruncated = false
  /** Whether the client is detaching, or has detached. */
  isStopping = false
  /** Whether recording has stopped. */
  isOver = false
  #report: DetachReport | null = null
  /** Results of the checks of the target after the detach; null if there was no check, or if no check was possible. */
  facts: DetachFacts | null = null
  /** Durations of root calls while only the roots had probes, measured at the end; null if they were not measured. */
  bareCalls: BareCalls | null = null
  /** Last message of the agent, if the agent has ended the session. */
  #farewell: string | undefined
  /** The target's process when recording began; undefined if the process is not visible. */
  readonly #target: TargetProcess | undefined
  #endWith: (reason: string) => void = () => {}
  /** Resolves with the reason when the session ends other than by `detach`. */
  readonly ended: Promise<string>
  /** Promise that resolves when the remaining events have been read; null until reading has begun. */
  #rest: Promise<void> | null = null
  /** Promise that resolves when the samples of allocations have been read; undefined if there are none, or before the detach. */
  #sampled: Promise<void> | undefined
  #hasRead: () => void = () => {}
  /** Resolves when all recorded events have been read, or if they cannot be read. `detach` may still be running. */
  readonly recorded: Promise<void>
  #hasLeft: () => void = () => {}
  /** Resolves when `detach` has ended or failed. */
  readonly left: Promise<void>

  constructor(
    private readonly engine: Engine,
    private readonly pulse: Pulse,
    private readonly span: Span,
  ) {
    this.#target = engine.process === null ? undefined : readTargetProcess(engine.process)
    this.ended = new Promise((resolve) => {
      this.#endWith = resolve
    })
    this.recorded = new Promise((resolve) => {
      this.#hasRead = resolve
    })
    this.left = new Promise((resolve) => {
      this.#hasLeft = resolve
    })
  }

  /**
   * Returns the reason why the target ended the session. Called after the link to the target was lost.
   *
   * @param lost  the reason that the link gives for its loss
   * @returns null if the target's process has ended
   */
  async whyLeft(lost: string): Promise<string | null> {
    return this.ending?.how === 'by itself' ? this.ending.reason : await this.#whyItEnded(lost)
  }

  /** Watches for a target that ends the session or exits. `byTarget` receives the agent's reason. */
  listen(): void {
    const { agent, recorder } = this.engine
    recorder.onEnded = (why) => this.byTarget(this.#reasonOf(why) ?? `code ${why}`)
    recorder.onError = (error) => {
      this.byTarget(error.message, error instanceof JfluidError ? error.exitCode : undefined)
    }
    void agent.closed.then((reason) => this.#linkClosed(reason))
  }

  /** Called if the agent ends the session. @param reason  text of the agent */
  byAgent(reason: string): void {
    this.#farewell ??= reason
    this.byTarget(reason)
  }

  /** Called if the target has ended the session and continues to run. */
  byTarget(reason: string, exitCode?: number): void {
    if (this.isStopping || this.ending !== null) return
    debug.end?.(`the target ends the session: ${reason}`)
    this.#noteEndedByItself(reason, exitCode)
    this.#lost(reason)
  }

  /** Called if a signal has ended the program that `run` started. */
  bySignal(signal: string): void {
    this.isTruncated = true
    this.engine.warnings.add(`the program was ended by ${signal}; the profile ends there`)
  }

  /**
   * Called after `detach` if the next recording could not begin. The rest of the target's execution is then in no recording.
   *
   * @param reason  null if the target has ended
   */
  nothingFollows(reason: string | null, exitCode?: number): void {
    if (reason !== null) {
      this.#noteEndedByItself(reason, exitCode)
      return
    }
    this.isTruncated = true
    this.ending = { how: 'target ended' }
    this.engine.warnings.add(
      'the JVM ended while its roots were being changed; the profile contains the old roots only',
    )
  }

  /**
   * Ends the session: the target gets its original code back, and the recorder reads the remaining events.
   *
   * @param isLast  whether no other recording follows. If none follows, the target is checked for remains of jfluid
   * @returns the agent's report about the restored code; null if the agent could not report. `ending` then states the reason
   */
  async detach(isLast = true): Promise<DetachReport | null> {
    if (this.isStopping) return this.#report
    this.isStopping = true
    this.engine.dumps.end()
    try {
      await this.#detach(isLast)
    } finally {
      await this.#rest?.catch(() => {}) // a failure here makes the detach fail with the same error
      await this.#sampled
      this.#hasRead()
      this.#hasLeft()
    }
    return this.#report
  }

  async #detach(isLast: boolean): Promise<void> {
    const { agent, door, turns } = this.engine
    debug.end?.(isLast ? 'detach begins' : 'detach begins, another recording follows')
    this.pulse.stop()
    // The recorder stops while the code is restored: probes do not stay installed until it has stopped.
    this.#sampled = this.engine.unprobed?.end()
    if (isLast && !this.isOver) await this.#compare()
    turns.close()
    const proof = isLast && !this.isOver ? new Proof(this.engine) : null
    try {
      if (!this.isOver) await this.#leave(proof)
      this.isOver = true
      door.leave()
      if (this.#report !== null) this.facts = (await proof?.left(this.#report)) ?? null
      if (this.facts !== null) debug.end?.(factsText(this.facts))
    } finally {
      agent.close() // after any error: the agent detaches once it sees that the client is gone
    }
    await this.#readTheRest()
  }

  /**
   * Compares calls with and without probes. An error of the comparison does not stop the detach. If the target has a problem, the detach
   * reports the problem.
   */
  async #compare(): Promise<void> {
    if (!mayCompare(this.engine, this.span)) return
    try {
      await answerInTime(this.pulse.readStatus(), this.engine.pid, COMPARE_TIMEOUT_MS)
      this.span.end()
      const calls = callsWithoutProbes(this.engine, this.span)
      this.bareCalls = await answerInTime(calls, this.engine.pid, COMPARE_TIMEOUT_MS)
    } catch (error) {
      const isMetAgain = error instanceof LinkLost || error instanceof TargetSilent
      debug.end?.(`root calls without probes: ${String(error)}`)
      const why = error instanceof NotSteady ? error.message : String(error)
      if (!isMetAgain) this.engine.warnings.add(`the accuracy of times is unknown (charged/bare): ${why}`)
    }
  }

  /** Reads the remaining events. Must be called when the target no longer writes events. */
  #readTheRest(): Promise<void> {
    this.#rest ??= this.#readAll()
    return this.#rest
  }

  async #readAll(): Promise<void> {
    const { installation, options, recorder } = this.engine
    installation.settle()
    const isWhole = await recorder.finish(eventsOf(options).tellsTime ? this.span.endTicks : 0)
    debug.end?.(`the recorder has read ${isWhole ? 'all events' : 'the events that have come'}`)
    if (!isWhole) this.#noteMissing()
    await this.#sampled
    this.#hasRead()
  }

  async #leave(proof: Proof | null): Promise<void> {
    const { agent, door, pid, turns, warnings } = this.engine
    const detachTimeoutMs = door.elsewhere === undefined ? undefined : REMOTE_DETACH_TIMEOUT_MS
    try {
      // A redefinition that is blocked ends only with the link, so the wait for it is not extended.
      await answerInTime(turns.idle(), pid, detachTimeoutMs ?? DETACH_TIMEOUT_MS)
      debug.end?.('questions of the target are answered')
      await answerInTime(this.pulse.readStatus(), pid)
      this.span.end()
      proof?.willRestore()
      const restored = proof === null ? null : await answerInTime(agent.restore(), pid, detachTimeoutMs)
      debug.end?.(restored === null ? 'code is restored with the detach' : reportText('restored', restored))
      await proof?.restored()
      const going = answerInTime(agent.detach(), pid, detachTimeoutMs)
      // The trees are built while the agent's thread ends, not while the target's code is restored: application threads may wait for the
      // restoration, and building trees would delay them. A failure is thrown at the end of the detach. Over a network, this is not done
      // here, since the last events arrive later.
      if (restored?.released === true && !this.#isElsewhere) this.#readTheRest().catch(() => {})
      this.#report = await going.catch((error: unknown) => {
        // If this client was stopped (SIGSTOP), the agent has timed out and detached. The answer is missing, but all code is restored.
        if (
          restored !== null &&
          error instanceof LinkLost &&
          this.#target !== undefined &&
          stillRuns(this.#target)
        )
          return restored
        throw error
      })
      debug.end?.(reportText('detached', this.#report))
      this.ending = { how: 'detached' }
      const { profilerFailure } = this.#report
      if (profilerFailure !== undefined) warnings.add(`the profiler failed: ${profilerFailure}`)
    } catch (error) {
      debug.end?.(`detach has failed: ${String(error)}`)
      if (error instanceof TargetSilent) {
        // The recorded data are kept without the agent's answer. The agent detaches once it detects that the client is gone.
        const lacksMetaspace = await this.#lacksMetaspace()
        warnings.add(lacksMetaspace ? noMetaspaceText(pid) : error.message)
        this.ending = { how: 'target silent', lacksMetaspace }
      } else if (error instanceof LinkLost) {
        const why = await this.#whyItEnded(error.reason)
        if (why !== null) this.#noteEndedByItself(why)
        else this.#noteTargetEnded()
      } else if (error instanceof JfluidError) {
        // The agent has answered with an error. The recorded data are complete by now.
        this.#noteEndedByItself(error.message, error.exitCode)
      } else {
        throw error
      }
    }
  }

  /** Returns whether the target has no free metaspace. A restoration needs some, and the agent retries it before it answers. */
  async #lacksMetaspace(): Promise<boolean> {
    const { door, pid } = this.engine
    const left = await answerInTime(door.metaspaceLeft(), pid, METASPACE_TIMEOUT_MS).catch(() => undefined)
    debug.end?.(`the target has ${left ?? 'an unknown number of'} free bytes of metaspace`)
    return left !== undefined && left < FULL_METASPACE_BYTES
  }

  /** Notes that a buffer which was sent over a network is incomplete. If the JVM has ended, only the end of the JVM is reported. */
  #noteMissing(): void {
    if (this.ending?.how === 'target ended') return
    this.isTruncated = true
    this.engine.warnings.add('the connection ended before all events had arrived: the last ones are missing')
  }

  async #linkClosed(reason: string): Promise<void> {
    // Nothing to do: this client closed the link, or `detach` is running and handles the closed link, or the session has already ended.
    if (reason === CLOSED_BY_US || this.isStopping || this.ending !== null) return
    const why = await this.#whyItEnded(reason)
    debug.end?.(`the link was closed (${reason}): ${why ?? 'the JVM has ended'}`)
    if (why !== null) this.byTarget(why)
    if (this.isStopping || this.ending !== null) return
    this.#noteTargetEnded()
    const what = this.#isElsewhere ? 'the connection was closed, the JVM has probably ended' : 'the JVM ended'
    this.#lost(reason === LINK_CLOSED ? what : `${what} (${reason})`)
  }

  /**
   * Returns the text for a reason. Remote clients have their own text, since the agent has a shorter timeout for a remote client
   * (Feeder.SILENT_CLIENT_TIMEOUT_NANOS).
   * @param why  code that the target has written into the buffer
   */
  #reasonOf(why: number): string | undefined {
    return why === ENDED_SILENT && this.#isElsewhere ? SILENT_ELSEWHERE : WHY_ENDED.get(why)
  }

  /**
   * Returns the reason why the session ended; null if the JVM has ended. If the client was writing to the socket at that time, the agent's
   * last message is lost, but the buffer may contain the reason.
   */
  async #whyItEnded(lost: string): Promise<string | null> {
    const told = await this.engine.recorder.stats().then(
      (stats) => this.#reasonOf(stats.ended),
      () => undefined,
    )
    return told ?? this.#farewell ?? (await whyLinkWasLost(this.#target, lost))
  }

  #noteEndedByItself(reason: string, exitCode = EX_TEMPFAIL): void {
    this.isTruncated = true
    this.ending = { how: 'by itself', reason, exitCode }
    this.engine.warnings.add(`the session ended unexpectedly: ${reason}`)
  }

  #noteTargetEnded(): void {
    this.ending = { how: 'target ended' }
    if (this.engine.options.liveness) {
      this.engine.warnings.add(
        'the JVM ended: the counts of live objects are up to half a second old, and do not contain later objects',
      )
    }
    if (this.engine.options.untilExit) return
    this.isTruncated = true
    this.engine.warnings.add(
      this.#isElsewhere
        ? 'the connection was closed during the recording, and it is unknown whether the JVM has ended; the profile ends there'
        : 'the JVM ended during the recording; the profile ends there',
    )
  }

  /** Whether the target is on another machine, so that only the agent can report the target's state. */
  get #isElsewhere(): boolean {
    return this.engine.door.elsewhere !== undefined
  }

  #lost(reason: string): void {
    const { turns } = this.engine
    this.isOver = true
    turns.close()
    this.span.end()
    this.pulse.stop()
    this.#endWith(reason)
  }
}

function reportText(what: string, { restoredClasses, refusedClasses, ms, ...rest }: DetachReport): string {
  return `${what}: ${restoredClasses} classes, ${refusedClasses} refused${rest.keptNames.map((it) => ` [${it}]`).join('')}, ${msText(ms)}; buffer ${rest.released ? 'released' : 'kept'}, transformer ${rest.transformerGone ? 'gone' : 'there'}, ${rest.lambdaClasses} lambda classes`
}

function factsText({ code, left, unseen, proofMs }: DetachFacts): string {
  const { checkedClasses, checkedMethods, originalClasses, different, unchecked } = code
  const compared = `${originalClasses} of ${checkedClasses} classes (${checkedMethods} methods) have their own code`
  return `proof, ${msText(proofMs)}: ${compared}; different: ${some(different)}; unchecked: ${unchecked || 'none'}; left: ${some(left)}; unseen: ${some(unseen)}`
}
