// jfluid record: attaches without a screen, records for a given time or until a signal, and writes the profile.

import { debug } from '../base/debug.ts'
import type { Flags } from '../options/table.ts'
import { roundSpan } from '../profile/text.ts'
import { preloadRecorder } from '../session/recorder/spare-worker.ts'
import { createProgress, type Progress } from '../tui/progress.ts'
import { withConsent } from './consent.ts'
import { Destination, keptIn } from './destination.ts'
import { commandOptions } from './options.ts'
import { type SampledInstead, sampledInstead, samplesInstead } from './samples-instead.ts'
import { sessionSource } from './session-source.ts'
import { keepStatus, type StopSignal, signalStatus, stopSignal } from './signals.ts'
import type { RecordedSource, Way } from './source.ts'
import { wayIn } from './way-in.ts'
import { wayOf } from './ways.ts'

export async function record(pidText: string | undefined, flags: Flags<'record'>): Promise<void> {
  const way = await wayOf('record', pidText, flags, () => callsOf(pidText, flags))
  const instead = await recordBy(way, flags)
  if (instead !== null) await recordBy(instead.way, instead.flags)
}

/** @returns the sampling to run instead; null if the recording is finished */
async function recordBy(way: Way, flags: Flags<'record'>): Promise<SampledInstead<Flags<'record'>> | null> {
  const push = Destination.check(flags)
  const progress = createProgress(process.stderr)
  const tell = (line: string): void => progress.note(line)
  let to: Destination | undefined
  let stop: StopSignal | undefined
  const listen = (): StopSignal => (stop ??= stopSignal())
  let source: RecordedSource | null = null
  let instead: SampledInstead<Flags<'record'>> | null = null
  try {
    const found = async (number: number): Promise<void> => {
      to = await Destination.of(flags, push, number, tell)
      listen()
    }
    source = await way({
      progress,
      isShown: false,
      tell,
      untold: () => [],
      found,
      stop: listen,
    })
    if (source !== null && to !== undefined)
      await recordStarted(source, flags.duration, to, listen(), progress)
  } catch (problem) {
    instead = await sampledInstead(problem, flags)
    if (instead === null) throw problem
  } finally {
    await source?.leave?.()
    if (instead === null) keepStatus()
    stop?.dispose()
    progress.close()
  }
  return instead
}

async function recordStarted(
  source: RecordedSource,
  durationMs: number,
  to: Destination,
  stop: StopSignal,
  progress: Progress,
): Promise<void> {
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
  const timer = new Promise<null>((resolve) => {
    setTimeout(resolve, durationMs, null).unref()
  })
  const stopped = stop.fired.then((name) => `received ${name}`)
  const why = await Promise.race([timer, stopped, source.ended])
  const { signal } = stop // a later signal does not change the reason
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
  if (put.problem !== null) throw put.problem
  for (const line of [...parts, ...put.lines]) progress.note(line)
  const problem = await source.outcome(signal, keptIn(put))
  if (problem !== null) throw problem
}

async function callsOf(pidText: string | undefined, flags: Flags<'record'>): Promise<Way> {
  const options = await commandOptions(flags)
  return async ({ progress, found, stop: listen }) => {
    const way = await wayIn(pidText, flags)
    await found(way.number)
    const stop = listen()
    preloadRecorder()
    const onPhase = (phase: string): void => progress.phase(phase)
    onPhase(`attaching to ${way.name}`)
    const session = await withConsent(
      options,
      async (request) => {
        // The session's code is loaded while the JVM loads its agent.
        const [door, { startUnless }] = await Promise.all([way.open(onPhase, request), import('./start.ts')])
        return await startUnless(stop.fired, door, request, onPhase)
      },
      () => progress.close(),
      samplesInstead(flags) !== null,
    )
    if (session !== null) return sessionSource(session)
    progress.done(`interrupted before the recording began; the agent has detached from JVM ${way.name}`)
    process.exitCode = signalStatus(await stop.fired)
    return null
  }
}
