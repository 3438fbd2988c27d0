// jfluid record: attach without a screen, profile for a while, write the profile.

import { debug } from '../base/debug.ts'
import { parseDuration } from '../base/duration.ts'
import { EX_USAGE, JfluidError } from '../base/errors.ts'
import type { Flags } from '../options/table.ts'
import { remoteAddress } from '../remote/address.ts'
import { preloadRecorder } from '../session/recorder/spare-worker.ts'
import type { Session } from '../session/session.ts'
import { createProgress } from '../tui/progress.ts'
import { checkAll } from './all.ts'
import { withConsent } from './consent.ts'
import { Destination, keptIn } from './destination.ts'
import { describeDetach, finish, tellMessages } from './finish.ts'
import { describeMatches } from './matches.ts'
import { commandOptions } from './options.ts'
import { outcome } from './outcome.ts'
import { samplesInstead, whySampled } from './samples-instead.ts'
import { keepStatus, signalStatus, stopSignal } from './signals.ts'
import type { RecordingStream } from './stream/recording-stream.ts'
import { checkWait } from './wait-for.ts'
import { checkJdwp, wayIn } from './way-in.ts'
import { isSampledByJvm } from './whole-jvm-options.ts'

/** Between two looks for the first call of the root, for which a user waits that long. */
const FIRST_MS = 20
const FIRST_LOOKS_MS = 3_000
const LINE_MS = 500

/** A JVM is sampled without a session, whose snapshots a stream is made of. */
export class StreamNeedsCalls extends JfluidError {
  readonly exitCode = EX_USAGE
  readonly hint = 'Leave one of the two out.'
  constructor() {
    super('--stream tells of calls, and samples by time record none')
  }
}

export async function record(pidText: string | undefined, flags: Flags<'record'>): Promise<void> {
  checkAll('record', pidText, flags)
  checkWait(pidText, flags)
  if (flags.all !== undefined) {
    const { recordAll } = await import('./record-all.ts')
    return await recordAll(flags.all, flags)
  }
  checkJdwp(pidText, flags)
  const address = pidText === undefined ? null : remoteAddress(pidText)
  if (address !== null) {
    const { recordRemote } = await import('./remote-record.ts')
    return await recordRemote(address, flags)
  }
  if (isSampledByJvm(flags)) {
    if (flags.stream) throw new StreamNeedsCalls()
    const { recordWholeJvm } = await import('./whole-jvm.ts')
    return await recordWholeJvm(pidText, flags)
  }
  try {
    await recordCalls(pidText, flags)
  } catch (problem) {
    const instead = flags.stream ? null : whySampled(problem, flags)
    if (instead === null) {
      keepStatus()
      throw problem
    }
    const { recordWholeJvm } = await import('./whole-jvm.ts')
    return await recordWholeJvm(instead.pid, instead.flags, instead.why)
  }
  keepStatus()
}

async function recordCalls(pidText: string | undefined, flags: Flags<'record'>): Promise<void> {
  const options = await commandOptions(flags)
  const to = Destination.check(flags)
  const durationMs = parseDuration(flags.duration)
  const way = await wayIn(pidText, flags)
  const progress = createProgress(process.stderr)
  const place = await Destination.of(flags, to, way.number, (line) => progress.note(line))
  const stop = stopSignal()
  try {
    preloadRecorder()
    const onPhase = (phase: string): void => progress.phase(phase)
    onPhase(`attaching to ${way.name}`)
    const session = await withConsent(
      options,
      async (request) => {
        // The JVM loads its agent while the session's code is read.
        const [door, { startUnless }] = await Promise.all([way.open(onPhase, request), import('./start.ts')])
        return await startUnless(stop.fired, door, request, onPhase)
      },
      () => progress.close(),
      !flags.stream && samplesInstead(flags) !== null,
    )
    if (session === null) {
      progress.done(`interrupted before anything was recorded; the agent has left JVM ${way.name}`)
      process.exitCode = signalStatus(await stop.fired)
      return
    }
    place.guard(session)
    const stream = flags.stream ? await beginStream(session) : null
    for (const line of describeMatches(session)) progress.note(line)
    const quiet = tellMessages(session, (line) => progress.note(line))
    const begun = performance.now()
    let nextLine = begun
    const ticker = setInterval(async () => {
      if (performance.now() < nextLine) return
      nextLine = Number.POSITIVE_INFINITY // one look at a time
      const s = await session.status().catch(() => null)
      const now = performance.now()
      const waits = s?.events === 0 && now - begun < FIRST_LOOKS_MS
      nextLine = now + (waits ? 0 : LINE_MS)
      if (s === null) return
      const seconds = Math.round((performance.now() - begun) / 1000)
      progress.update(
        `${seconds}/${Math.round(durationMs / 1000)} s  ${s.events} events  ${s.instrumentedMethods} methods instrumented, ${s.calledMethods} called${s.stacks === undefined ? '' : `, ${s.stacks.samples} samples`}`,
      )
    }, FIRST_MS)
    const timer = new Promise<string>((resolve) => {
      setTimeout(resolve, durationMs, 'the time is over').unref()
    })
    const stopped = stop.fired.then((name) => `${name} was received`)
    const why = await Promise.race([timer, stopped, session.ended, ...(stream === null ? [] : [stream.gone])])
    const { signal } = stop // one that comes later does not change why we end
    clearInterval(ticker)
    quiet()
    progress.phase(`ending: ${why}`)
    await stream?.stop()
    await place.release()
    const { profile, report } = await place.orAutosaved(finish(session))
    progress.done(describeDetach(session, report))
    for (const warning of profile.warnings) progress.note(`warning: ${warning}`)
    const put = await place.put(profile, (text) => progress.phase(text), stop)
    debug.end?.('the profile has been put')
    if (put.path !== null || put.store !== null) await stream?.ended(profile, why, put.path)
    if (put.problem !== null) throw put.problem
    for (const line of put.lines) progress.note(line)
    const problem = outcome(session, signal, keptIn(put))
    if (problem !== null) throw problem
  } finally {
    stop.dispose()
    progress.close()
  }
}

/** A reader that goes away ends the recording, and not us: the profile is kept. */
async function beginStream(session: Session): Promise<RecordingStream> {
  const { RecordingStream } = await import('./stream/recording-stream.ts')
  process.stdout.removeAllListeners('error')
  process.stdout.on('error', () => {}) // the stream's own writes tell
  return new RecordingStream(session)
}
