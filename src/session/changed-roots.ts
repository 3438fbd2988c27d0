// Changes the roots of a running session: a second recording with the same agent.
//
// First the new roots are checked, so a root that does not exist or cannot be instrumented changes nothing. Then the old recording ends in
// the usual way: the target gets its original code back, threads leave the runtime, the ring is unmapped. Then the sleeping agent is woken.
// If the new recording cannot begin, the old roots are recorded again, and their earlier results are kept as a separate profile. If the old
// roots cannot be recorded either, the session ends with the earlier results.

import { openAttachSocket } from '../attach/handshake.ts'
import { readTargetProcess, stillRuns } from '../attach/target-process.ts'
import { EX_UNAVAILABLE, JfluidError, messageOf } from '../base/errors.ts'
import { shellWord } from '../base/shell-word.ts'
import type { Profile } from '../profile/profile.ts'
import type { RootPattern } from '../reveal/patterns.ts'
import { taskOf } from './code/instrumenter.ts'
import { attachDoor } from './doors/door.ts'
import type { Engine } from './engine.ts'
import { Recording } from './recording.ts'
import type { SessionRequest } from './session-options.ts'
import { rootNames } from './session-profile.ts'

export class CannotChangeRoots extends JfluidError {
  static sample = () => new CannotChangeRoots('the session has ended')
  readonly exitCode = EX_UNAVAILABLE
  readonly hint = 'Start a new session with the other roots.'
  constructor(reason: string) {
    super(`cannot change the roots: ${reason}`)
  }
}

/** Thrown if the new roots exist but could not be recorded. The old roots are recorded again; all counts begin at zero. */
export class OldRootsAgain extends JfluidError {
  static sample = () => new OldRootsAgain(new Error('the JVM did not answer'), '/tmp/app.jfluid.1')
  readonly exitCode = EX_UNAVAILABLE
  readonly hint: string
  /** Warning that is added to the next profile. */
  readonly warning: string
  /** @param where  location of the earlier profile; null if it was not kept */
  constructor(problem: unknown, where: string | null) {
    const reason = messageOf(problem)
    super(
      `cannot record the new roots: ${reason}; the old roots are recorded again, from zero (earlier profile: ${where ?? 'lost'})`,
    )
    this.hint =
      where === null ? 'Try again.' : `Read the earlier profile with: jfluid report ${shellWord(where)}`
    const before = where === null ? 'not included' : `in ${where}`
    this.warning = `the roots could not be changed: the old roots are recorded from zero, and the earlier recording is ${before} (${reason})`
  }
}

/** Saves a profile. @returns its location */
export type KeepProfile = (profile: Profile) => Promise<string>

/**
 * Checks whether these patterns can be roots of the target now. Changes nothing.
 *
 * @throws RootNotFound and other errors of the revealer, CannotChangeRoots, and errors of attaching
 */
export async function checkRoots(engine: Engine, roots: readonly RootPattern[]): Promise<void> {
  const { arming, installation, instrumenter, pid, revealer, turns } = engine
  await turns.request(async () => {
    arming?.want(roots)
    await installation.refreshClasses()
    const methods = await turns.ask(() => revealer.checkRoots(roots))
    const refusals = await instrumenter.refusalsOf(methods.map(taskOf))
    if (refusals[0] !== undefined && refusals.length === methods.length)
      throw new CannotChangeRoots(refusals[0].reason)
  })
  // The attach socket is needed to wake the agent.
  const { again } = engine.door
  await (again === undefined ? openAttachSocket(pid) : again.look())
}

/**
 * The recording that runs after the change. `problem` is the reason why the requested recording could not begin; null if it runs.
 */
export interface Begun {
  readonly recording: Recording
  readonly problem: unknown
}

/**
 * Ends a recording and begins another with other roots. If that fails, records the old roots again.
 *
 * @throws CannotChangeRoots if the target has ended; otherwise the error of the new roots, if the old roots cannot be recorded again.
 * `before` is then the last recording
 */
export async function beginAnew(
  before: Recording,
  roots: readonly RootPattern[],
  onPhase: (phase: string) => void,
): Promise<Begun> {
  const { request } = before
  const { byHand, door, pid, process } = before.engine
  const target = process === null ? undefined : readTargetProcess(process)
  onPhase('restoring the original code')
  await before.end.detach(false)
  if (before.end.ending?.how !== 'detached')
    throw new CannotChangeRoots('the JVM did not answer, or has ended')
  const start = async (wanted: SessionRequest) =>
    await Recording.start(
      await (door.again?.open() ?? attachDoor(pid, { onPhase })),
      wanted,
      onPhase,
      (engine) => engine.byHand.takeOver(byHand, rootNames(request)),
    )
  try {
    // The earlier samples (`seen`) are below the old roots, so they are dropped.
    return { recording: await start({ ...request, roots, seen: [] }), problem: null }
  } catch (problem) {
    try {
      return { recording: await start(request), problem }
    } catch {
      // Both attempts have failed. The error of the new roots is more useful than the error of the old roots.
      const lives = target !== undefined && stillRuns(target)
      const { exitCode } = problem instanceof JfluidError ? problem : { exitCode: undefined }
      before.end.nothingFollows(
        lives ? `the roots could not be changed: ${messageOf(problem)}` : null,
        exitCode,
      )
      throw lives ? problem : new CannotChangeRoots('the JVM has ended')
    }
  }
}
