// Other roots for a session that runs: a recording after the one before, on the same agent.
//
// The old recording ends as any does: the target gets its code back, threads leave the runtime, the ring is unmapped. Then the
// sleeping agent is woken. What can be known is looked at before, so that a root that does not exist, or has code that cannot bear
// probes, costs nothing. If the new recording cannot begin all the same, the old roots are recorded again, and what they had given
// before is kept apart; if not even that is possible, it is what the session ends with.

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
  readonly hint = 'Begin a session with the other roots.'
  constructor(reason: string) {
    super(`cannot change the roots: ${reason}`)
  }
}

/** The new roots are there, and could not be recorded: the old ones are again, from zero. */
export class OldRootsAgain extends JfluidError {
  static sample = () => new OldRootsAgain(new Error('the JVM did not answer'), '/tmp/app.jfluid.1')
  readonly exitCode = EX_UNAVAILABLE
  readonly hint: string
  /** For the profile that follows. */
  readonly warning: string
  /** @param where  what they had given before is; null if nobody has kept it */
  constructor(problem: unknown, where: string | null) {
    const reason = messageOf(problem)
    super(`the old roots again, from zero (before: ${where ?? 'lost'}): ${reason}`)
    this.hint = where === null ? 'Try again.' : `Read it with: jfluid report ${shellWord(where)}`
    const before = where === null ? 'not in here' : `in ${where}`
    this.warning = `the roots could not be changed: the old ones begin at zero, and what came before is ${before} (${reason})`
  }
}

/** Keeps a profile. @returns where it is */
export type KeepProfile = (profile: Profile) => Promise<string>

/**
 * Whether these can be roots of the target now. Changes nothing.
 *
 * @throws RootNotFound and other errors of the revealer, CannotChangeRoots, and those of attaching
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
  // The agent is woken through it.
  const { again } = engine.door
  await (again === undefined ? openAttachSocket(pid) : again.look())
}

/** The recording that goes on, and why it is not the one that was asked for; null if it is. */
export interface Begun {
  readonly recording: Recording
  readonly problem: unknown
}

/**
 * Ends a recording and begins another with other roots. If that cannot begin, one with the old roots does.
 *
 * @throws CannotChangeRoots if the target has ended meanwhile; else what kept the new roots from being recorded, where the old
 *   ones could not be either. The recording before is then the last
 */
export async function beginAnew(
  before: Recording,
  roots: readonly RootPattern[],
  onPhase: (phase: string) => void,
): Promise<Begun> {
  const { request } = before
  const { byHand, door, pid, process } = before.engine
  const target = process === null ? undefined : readTargetProcess(process)
  onPhase('giving the old code back')
  await before.end.detach(false)
  if (before.end.ending?.how !== 'detached')
    throw new CannotChangeRoots('the JVM did not answer, or has ended')
  const start = async (wanted: SessionRequest) =>
    await Recording.start(await (door.again?.open() ?? attachDoor(pid)), wanted, onPhase, (engine) =>
      engine.byHand.takeOver(byHand, rootNames(request)),
    )
  try {
    // What was seen before was below other roots.
    return { recording: await start({ ...request, roots, seen: [] }), problem: null }
  } catch (problem) {
    try {
      return { recording: await start(request), problem }
    } catch {
      // The first tells more.
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
