// End of attach, record and run: detaches, keeps the profile, and reports the state of the target.

import { restoredText } from '../profile/detach-facts.ts'
import type { Profile } from '../profile/profile.ts'
import { nothingText } from '../profile/text.ts'
import { inOneLine, type RootProblem, RootRefused } from '../reveal/errors.ts'
import type { Session } from '../session/session.ts'
import type { DetachReport } from '../wire/messages.ts'
import { filterText } from './outcome.ts'

export interface Finished {
  readonly profile: Profile
  readonly report: DetachReport | null
  /** Resolves when the recorder has been stopped. After an error, the recorder is stopped before `finish` throws. */
  readonly closed: Promise<void>
}

/** Detaches and returns the finished profile. */
export async function finish(session: Session): Promise<Finished> {
  let made: Omit<Finished, 'closed'>
  try {
    const [detached, recorded] = await Promise.allSettled([session.detach(), session.profile()])
    if (detached.status === 'rejected') throw detached.reason
    if (recorded.status === 'rejected') throw recorded.reason
    const [report, profile] = [detached.value, recorded.value]
    const warnings = [...profile.warnings, ...silence(session, profile), ...idleFilters(session)]
    made = { profile: { ...profile, warnings }, report }
  } catch (error) {
    await session.close()
    throw error
  }
  return { ...made, closed: session.close() }
}

/** Returns warnings that explain why the profile has no calls, or why no class or method was found for a root. */
function silence(session: Session, profile: Profile): string[] {
  const armed = session.rootReport().filter((it) => it.armed)
  const absent = armed.filter((it) => it.problem === null).map((it) => it.text)
  // If a root has no probes, jfluid does not know whether the root was called.
  const isKnown = !armed.some((it) => it.problem instanceof RootRefused)
  const said = [
    ...(profile.events.count > 0 || !isKnown
      ? []
      : [nothingText(session.timesRegions ? 'region' : 'root', profile.instrumentation.gaps)]),
    ...(absent.length === 0 ? [] : [`the class of ${absent.join(', ')} was never loaded`]),
  ]
  // Problems with the lines of a region are reported separately.
  const isTold = (it: RootProblem): boolean =>
    it instanceof RootRefused && session.regionProblems().length > 0
  const problems = armed.flatMap(({ problem: it }) => (it === null || isTold(it) ? [] : [it]))
  const uncalled = profile.events.count > 0 ? session.rootsNeverCalled : []
  const idle = session.timesRegions
    ? uncalled.map((it) => `region ${it} was not executed`)
    : uncalled.map((it) => `root ${it} was not called`)
  return [...(said.length === 0 ? [] : [said.join('; ')]), ...idle, ...problems.map(inOneLine)]
}

/** Warns about filters that match nothing. Otherwise the user would not notice. */
function idleFilters(session: Session): string[] {
  return session
    .filterReport()
    .filter((it) => it.classes === 0)
    .map((it) => `no class matched ${filterText(it)}`)
}

/** Reports each message of the session once, for example that a root is not called. Returns a function that stops the reports. */
export function tellMessages(session: Pick<Session, 'status'>, tell: (line: string) => void): () => void {
  const told = new Set<string>()
  let isAsking = false
  const timer = setInterval(async () => {
    // Only one request is pending at a time: an answer of the session may take a minute.
    if (isAsking) return
    isAsking = true
    const status = await session.status().catch(() => null)
    isAsking = false
    if (status === null || status.phase === 'ended') return
    for (const note of status.notes) {
      if (told.has(note)) continue
      told.add(note)
      tell(note)
    }
  }, MESSAGES_INTERVAL_MS)
  timer.unref()
  return () => clearInterval(timer)
}

const MESSAGES_INTERVAL_MS = 250

/** Returns one line about the target after the detach. */
export function describeDetach(
  { pid, ending, detachFacts }: Pick<Session, 'pid' | 'ending' | 'detachFacts'>,
  report: DetachReport | null,
): string {
  if (report === null) {
    if (ending?.how === 'target ended') return `JVM ${pid} has ended`
    if (ending?.how === 'by itself') return `the session with JVM ${pid} had ended before`
    return `detached from JVM ${pid} without an answer`
  }
  const { restoredClasses, refusedClasses, keptNames, ms, released } = report
  const named =
    keptNames.length === 0 ? '' : `: ${keptNames.join(', ')}${refusedClasses > keptNames.length ? ', …' : ''}`
  const refused =
    refusedClasses === 0
      ? ''
      : `; ${refusedClasses === 1 ? '1 class kept its' : `${refusedClasses} classes kept their`} probes, which are inactive${named}`
  const kept = released
    ? ''
    : '; a thread is still inside a probe, so the event buffer stays mapped in the JVM'
  const classes = restoredClasses === 1 ? '1 class' : `${restoredClasses} classes`
  const seen = detachFacts === null ? `restored: ${classes}` : restoredText(detachFacts)
  return `detached from ${pid} in ${Math.round(ms)} ms; ${seen}${refused}${kept}`
}
