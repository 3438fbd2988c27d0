// Starting a session that a signal may be faster than.

import type { OpenDoor } from '../session/doors/door.ts'
import { Session } from '../session/session.ts'
import type { SessionRequest } from '../session/session-options.ts'
import { finish } from './finish.ts'

/** A session, or null if `stop` comes first: a target that is stopped itself answers nothing. */
export async function startUnless(
  stop: Promise<string>,
  door: OpenDoor,
  options: SessionRequest,
  onPhase: (phase: string) => void,
): Promise<Session | null> {
  const started = Session.start(door, options, onPhase)
  const first = await Promise.race([started, stop])
  if (typeof first !== 'string') return first
  door.link.close() // the agent takes that for a detach
  await started.then(finish, () => {}) // it had just started, or ends with the link
  return null
}
