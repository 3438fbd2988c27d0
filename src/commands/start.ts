// Starts a session that a signal may cancel.

import type { OpenDoor } from '../session/doors/door.ts'
import { Session } from '../session/session.ts'
import type { SessionRequest } from '../session/session-options.ts'
import { finish } from './finish.ts'

/** Returns a session, or null if `stop` resolves first: a target that is stopped (SIGSTOP) would never answer. */
export async function startUnless(
  stop: Promise<string>,
  door: OpenDoor,
  options: SessionRequest,
  onPhase: (phase: string) => void,
): Promise<Session | null> {
  const started = Session.start(door, options, onPhase)
  const first = await Promise.race([started, stop])
  if (typeof first !== 'string') return first
  door.link.close() // the agent treats this as a detach
  await started.then(finish, () => {}) // the session had just started, or the start fails because the link is closed
  return null
}
