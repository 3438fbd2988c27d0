// Other roots for a session that runs: a recording after the one before, on the same agent.
//
// The old recording ends as any does: the target gets its code back, threads leave the runtime, the ring is unmapped. Then the
// sleeping agent is woken. What is asked of the user is looked at before, so that a root that does not exist costs nothing.

import { openAttachSocket } from '../attach/handshake.ts'
import { EX_UNAVAILABLE, JfluidError } from '../base/errors.ts'
import type { RootPattern } from '../reveal/patterns.ts'
import { attachDoor } from './door.ts'
import type { Engine } from './engine.ts'
import { Recording } from './recording.ts'
import type { SessionOptions } from './session-options.ts'
import { rootNames } from './session-profile.ts'

export class CannotChangeRoots extends JfluidError {
  readonly exitCode = EX_UNAVAILABLE
  readonly hint = 'Begin a session with the other roots.'
  constructor(reason: string) {
    super(`cannot change the roots: ${reason}`)
  }
}

/**
 * Whether these can be roots of the target now. Changes nothing.
 *
 * @throws RootNotFound and other errors of the revealer, and those of attaching
 */
export async function checkRoots(engine: Engine, roots: readonly RootPattern[]): Promise<void> {
  const { installation, pid, revealer, turns } = engine
  await turns.request(async () => {
    await installation.refreshClasses()
    await turns.ask(() => revealer.checkRoots(roots))
  })
  // The agent is woken through it.
  await openAttachSocket(pid)
}

/** The recording that goes on, and why it is not the one that was asked for; null if it is. */
export interface Begun {
  readonly recording: Recording
  readonly problem: unknown
}

/**
 * Ends a recording and begins another with other roots. If that cannot begin, one with the old roots does.
 *
 * @throws CannotChangeRoots if the target has ended meanwhile; else what kept the new roots from being recorded, where the old ones could not be either
 */
export async function beginAnew(
  before: Recording,
  roots: readonly RootPattern[],
  onPhase: (phase: string) => void,
): Promise<Begun> {
  const { byHand, options, pid } = before.engine
  onPhase('giving the old code back')
  await before.end.detach()
  if (before.end.ending?.how !== 'detached')
    throw new CannotChangeRoots('the JVM did not answer, or has ended')
  const start = async (wanted: SessionOptions) =>
    await Recording.start(await attachDoor(pid), wanted, onPhase, (engine) =>
      engine.byHand.takeOver(byHand, rootNames(options)),
    )
  try {
    return { recording: await start({ ...options, roots }), problem: null }
  } catch (problem) {
    const recording = await start(options).catch(() => {
      throw problem // the first tells more
    })
    recording.engine.warnings.add(
      'the roots could not be changed: the old ones are recorded again, and what came before is not in here',
    )
    return { recording, problem }
  }
}
