// One recording of `record`: starts it, waits for its end, and puts the profile to its destination.

import { debug } from '../base/debug.ts'
import type { JfluidError } from '../base/errors.ts'
import type { Flags } from '../options/table.ts'
import type { Profile } from '../profile/profile.ts'
import { roundSpan } from '../profile/text.ts'
import { preloadRecorder } from '../session/recorder/spare-worker.ts'
import type { Session } from '../session/session.ts'
import type { SessionRequest } from '../session/session-options.ts'
import type { Progress } from '../tui/progress.ts'
import { withConsent } from './consent.ts'
import { type Destination, keptIn, type Put } from './destination.ts'
import { commandOptions } from './options.ts'
import { samplesInstead } from './samples-instead.ts'
import { sessionSource } from './session-source.ts'
import { type StopSignal, signalStatus } from './signals.ts'
import type { RecordedSource, Way } from './source.ts'
import { wayIn } from './way-in.ts'

/** A finished recording. */
export interface Recorded {
  readonly profile: Profile
  readonly put: Put
  /** Paths of the profiles of several JVMs. */
  readonly parts: readonly string[]
  /** The most important error of the recording; null if there is none. The destination's own error is in `put`. */
  readonly problem: JfluidError | null
}

/**
 * Records until the duration is over, a signal arrives, or the recording ends by itself.
 *
 */
export async function recordStarted(
  source: RecordedSource,
  durationMs: number,
  to: Destination,
  stop: StopSignal,
  progress: Progress,
): Promise<Recorded> {
  const { saved, called } = source
  const { place } = to
  if (saved !== undefined) place.guard(saved)
  if (source.phase !== undefined) progress.phase(source.phase)
  for (const line of source.matches()) progress.note(line)
  const quiet = source.tellMessages((line) => progress.note(line))
  const begun = performance.now()
  const ticker = setInterval(async () => {
    const status = await source.status()
    if (status === null) return
    const seconds = Math.round((performance.now() - begun) / 1000)
    progress.update(`${seconds}/${Math.round(durationMs / 1000)} s  ${status}`)
  }, source.everyMs)
  let over: NodeJS.Timeout | undefined
  const timer = new Promise<null>((resolve) => {
    over = setTimeout(resolve, durationMs, null).unref()
  })
  const stopped = stop.fired.then((name) => `received ${name}`)
  const why = await Promise.race([timer, stopped, source.ended])
  const { signal } = stop // a later signal does not change the reason
  clearTimeout(over)
  clearInterval(ticker)
  quiet()
  progress.phase(why === null ? `finished after ${roundSpan(durationMs)}` : `ending: ${why}`)
  await place.release()
  const finishing = source.finish((text) => progress.phase(text))
  const { profile, described, parts = [] } = await place.orAutosaved(finishing)
  for (const line of described) progress.done(line)
  for (const warning of profile.warnings) progress.note(`warning: ${warning}`)
  const put = await to.put(profile, (text) => progress.phase(text), stop, called)
  debug.end?.('the profile has been put')
  return { profile, put, parts, problem: await source.outcome(signal, keptIn(put)) }
}

/**
 * Returns the way to record calls of one local JVM.
 *
 * @param more  further properties of the request
 * @param asks  whether the user may be asked before an action that harms the program; if not, such an action is an error
 */
export async function callsOf(
  pidText: string | undefined,
  flags: Flags<'record'>,
  more: Partial<SessionRequest> = {},
  asks = true,
): Promise<Way> {
  const options = { ...(await commandOptions(flags)), ...more }
  return async ({ progress, found, stop: listen }) => {
    const way = await wayIn(pidText, flags)
    await found(way.number)
    const stop = listen()
    preloadRecorder()
    const onPhase = (phase: string): void => progress.phase(phase)
    onPhase(`attaching to ${way.name}`)
    const start = async (request: SessionRequest): Promise<Session | null> => {
      // The session's code is loaded while the JVM loads its agent.
      const [door, { startUnless }] = await Promise.all([way.open(onPhase, request), import('./start.ts')])
      return await startUnless(stop.fired, door, request, onPhase)
    }
    const session = asks
      ? await withConsent(options, start, () => progress.close(), samplesInstead(flags) !== null)
      : await start(options)
    if (session !== null) return sessionSource(session)
    progress.done(`interrupted before the recording began; the agent has detached from JVM ${way.name}`)
    process.exitCode = signalStatus(await stop.fired)
    return null
  }
}
