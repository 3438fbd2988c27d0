// One recording of `record`: starts it, waits for its end, and puts the profile to its destination.

import { debug } from '../base/debug.ts'
import type { JfluidError } from '../base/errors.ts'
import type { Flags } from '../options/table.ts'
import type { Profile } from '../profile/profile.ts'
import { roundSpan } from '../profile/text.ts'
import type { Labels } from '../push/identity.ts'
import { preloadRecorder } from '../session/recorder/spare-worker.ts'
import type { Session } from '../session/session.ts'
import type { SessionRequest } from '../session/session-options.ts'
import type { Progress } from '../tui/progress.ts'
import { withConsent } from './consent.ts'
import { Destination, keptIn, type Put } from './destination.ts'
import { commandOptions } from './options.ts'
import { sampledInstead, samplesInstead } from './samples-instead.ts'
import { sessionSource } from './session-source.ts'
import { type StopSignal, signalStatus, unlessStopped } from './signals.ts'
import type { RecordedSource, StartContext, Way } from './source.ts'
import { wayIn } from './way-in.ts'
import { wayOf } from './ways.ts'

/** A finished recording. */
export interface Recorded {
  readonly profile: Profile
  readonly put: Put
  /** Paths of the profiles of several JVMs. */
  readonly parts: readonly string[]
  /** The most important error of the recording; null if there is none. The destination's own error is in `put`. */
  readonly problem: JfluidError | null
}

/** Receiver of the messages of a recording, and origin of the signal that ends it. */
export interface RecordContext extends Pick<StartContext, 'progress' | 'stop'> {
  /** Further properties of the request. */
  readonly more?: Partial<SessionRequest>
  /** Whether the user may be asked before an action that harms the program. If not, such an action is an error. The default is true. */
  readonly asks?: boolean
  /** Whether this process ends after the recording. The default is false. */
  readonly isLast?: boolean
  /** Returns further labels of a profile for its store. */
  labelsOf?(profile: Profile): Labels
}

/**
 * Records calls, or samples if that is what the flags ask for or all that is harmless in a busy JVM.
 *
 * @returns null if the start was cancelled
 * @throws errors of the start. Errors of the recording and of its destination are in the result
 */
export async function recordOnce(
  pidText: string | undefined,
  flags: Flags<'record'>,
  context: RecordContext,
): Promise<Recorded | null> {
  const way = await wayOf('record', pidText, flags, () => callsOf(pidText, flags, context))
  try {
    return await recordBy(way, flags, context)
  } catch (problem) {
    const instead = await sampledInstead(problem, flags)
    if (instead === null) throw problem
    return await recordBy(instead.way, instead.flags, context)
  }
}

/** @returns null if the start was cancelled */
async function recordBy(
  way: Way,
  flags: Flags<'record'>,
  { progress, stop, labelsOf }: RecordContext,
): Promise<Recorded | null> {
  const push = Destination.check(flags)
  const tell = (line: string): void => progress.note(line)
  let to: Destination | undefined
  let source: RecordedSource | null = null
  try {
    const found = async (number: number): Promise<void> => {
      to = await Destination.of(flags, push, number, tell, labelsOf)
      stop()
    }
    source = await way({ progress, isShown: false, tell, untold: () => [], found, stop })
    if (source === null || to === undefined) return null
    return await recordStarted(source, flags.duration, to, stop(), progress)
  } finally {
    await source?.leave?.()
  }
}

/** Records until the duration is over, a signal arrives, or the recording ends by itself. */
async function recordStarted(
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

/** Returns the way to record calls of one local JVM. @param more, asks  as in `RecordContext` */
async function callsOf(
  pidText: string | undefined,
  flags: Flags<'record'>,
  { more = {}, asks = true, isLast = false }: RecordContext,
): Promise<Way> {
  const options = { ...(await commandOptions(flags)), ...more }
  return async ({ progress, found, stop: listen }) => {
    const way = await wayIn(pidText, flags)
    await found(way.number)
    const stop = listen()
    preloadRecorder()
    const onPhase = (phase: string): void => progress.phase(phase)
    onPhase(`attaching to ${way.name}`)
    let loads = false
    const start = async (request: SessionRequest): Promise<Session | null> => {
      // The session's code is loaded while the JVM loads its agent.
      const [door, { startUnless }] = await Promise.all([
        unlessStopped(stop, (signal) => way.open(onPhase, request, signal)),
        import('./start.ts'),
      ])
      loads = door === null
      return door === null ? null : await startUnless(stop.fired, door, request, onPhase)
    }
    const session = asks
      ? await withConsent(options, start, () => progress.close(), samplesInstead(flags) !== null)
      : await start(options)
    if (session !== null) return sessionSource(session, isLast)
    const agent = loads
      ? `JVM ${way.name} may still load the agent, which then begins no session`
      : `the agent has detached from JVM ${way.name}`
    progress.done(`interrupted before the recording began; ${agent}`)
    process.exitCode = signalStatus(await stop.fired)
    return null
  }
}
