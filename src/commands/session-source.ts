// Source for a recorded session with a JVM of this machine.

import { doLessInBackground } from '../base/less-background-work.ts'
import type { Session } from '../session/session.ts'
import type { ProgramSource } from './child-program.ts'
import { describeDetach, finish, tellMessages } from './finish.ts'
import { describeMatches } from './matches.ts'
import { badEnd, missing, outcome } from './outcome.ts'
import { countsText } from './source.ts'

/** Interval and maximum duration of the checks for the first call of the root. The user waits for the first call. */
const FIRST_CALL_INTERVAL_MS = 20
const FIRST_CALL_TIMEOUT_MS = 3_000
const STATUS_INTERVAL_MS = 500

/** @param isLast  whether this process ends after the session */
export function sessionSource(session: Session, isLast: boolean): ProgramSource {
  const begun = performance.now()
  let nextLine = begun
  return {
    ended: session.ended,
    saved: session,
    called: 'profile',
    everyMs: FIRST_CALL_INTERVAL_MS,
    async status() {
      if (performance.now() < nextLine) return null
      nextLine = Number.POSITIVE_INFINITY // prevents a second request before the first request is answered
      const s = await session.status().catch(() => null)
      const now = performance.now()
      const waits = s?.events === 0 && now - begun < FIRST_CALL_TIMEOUT_MS
      nextLine = now + (waits ? 0 : STATUS_INTERVAL_MS)
      if (s === null) return null
      return `${countsText(s)}${s.stacks === undefined ? '' : `, ${s.stacks.samples} samples`}`
    },
    matches: () => describeMatches(session),
    tellMessages: (tell) => tellMessages(session, tell),
    async drawn(sources) {
      const { showSession } = await import('./session-view.ts')
      return (screen, out) => showSession(session, screen, out, sources)
    },
    async finish() {
      if (isLast) doLessInBackground()
      const { profile, report } = await finish(session)
      return { profile, described: [describeDetach(session, report)] }
    },
    outcome: async (signal, kept) => outcome(session, signal, kept),
    problem: (kept) => badEnd(session, kept) ?? missing(session),
  }
}
