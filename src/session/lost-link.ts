// A link that is lost: has its JVM ended, or has only the agent left?

import { endsNow, type TargetProcess } from '../attach/target-process.ts'

/** What a socket says where not the JVM has gone, but the way to it. */
const NETWORK = /\b(?:ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENETDOWN)\b/

/**
 * Why a session has ended whose link is lost.
 *
 * @param target  as it was while the link was there; undefined if nothing is known of it
 * @param reason  why the link was lost, as it tells
 * @returns null if the JVM has ended, as far as can be seen
 */
export async function whyLinkWasLost(
  target: TargetProcess | undefined,
  reason: string,
): Promise<string | null> {
  if (target === undefined ? !NETWORK.test(reason) : await endsNow(target)) return null
  return `the connection to its agent was lost (${reason})`
}
