// attach, record and run of --mode sample where the JVM looks at its threads itself: the same screens, files and exit statuses, and no agent.

import type { ChildProcess } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { NoSuchProcess } from '../attach/admission.ts'
import { readTargetProcess } from '../attach/target-process.ts'
import { parseDuration } from '../base/duration.ts'
import type { JfluidError } from '../base/errors.ts'
import { shellWord } from '../base/shell-word.ts'
import type { Flags } from '../options/table.ts'
import type { Profile } from '../profile/profile.ts'
import { reportPieces, terminalOptions } from '../profile/report.ts'
import { writePieces } from '../profile/write.ts'
import { JvmSampling, type JvmSamplingOptions, recorderSampling } from '../session/sampling/jvm-sampling.ts'
import { openRecordingDoor, type RecordingDoor } from '../session/sampling/recording-door.ts'
import { type Leave, type LiveSource, runLiveView } from '../tui/app.ts'
import { createProgress } from '../tui/progress.ts'
import { openScreen, preloadScreen, terminalProblem } from '../tui/screen.ts'
import { exitOf, NoJvmStarted, outputFile, outputOf, type RunFlags, start } from './child-program.ts'
import { Destination, keptIn } from './destination.ts'
import { sessionKeeper } from './keeper.ts'
import { NothingSampled, outcome } from './outcome.ts'
import { PassOn } from './pass-on.ts'
import { ProfilePlace } from './place.ts'
import { say } from './say.ts'
import { endingSignals, keepStatus, stopSignal } from './signals.ts'
import { jvmFor } from './wait-for.ts'
import { wholeJvmSampling } from './whole-jvm-options.ts'

/** It says itself why it did not start. */
const RECORDER_HINT =
  'Give a command that starts a JVM 17 or newer; where it has no flight recorder (no module jdk.jfr, or -XX:-FlightRecorder): --sampler stacks.'
const STATUS_MS = 500
/** Between looks for the JVM of a program that has just been started. */
const LOOK_MS = 10
/** From the look of a JVM until it records, if it does as told. */
const OPTIONS_MS = 20_000

/** @param whySamples  if calls were asked for */
export async function attachWholeJvm(
  pidText: string | undefined,
  flags: Flags<'attach'>,
  whySamples?: string,
): Promise<void> {
  const samples = wholeJvmSampling(flags)
  const later: string[] = []
  const place = await ProfilePlace.maybeAt(flags.out, flags, (line) => later.push(line))
  const problem = terminalProblem(process.stdin, process.stdout, process.env)
  if (problem !== null) throw problem
  const pid = await jvmFor(pidText, flags)
  preloadScreen()
  const progress = createProgress(process.stderr)
  progress.phase(`attaching to ${pid}`)
  let session: JvmSampling
  try {
    session = await JvmSampling.start(pid, { ...samples, whySamples, onCost: (text) => progress.note(text) })
  } finally {
    progress.close()
  }
  const left = await view(session, place)
  for (const line of later) say(line)
  const { how, profile } = left
  const ended = outcome(session, how === 'quit' ? null : how, flags.out ?? null)
  const told = orNothing(ended, session, profile)
  if (told !== null) throw told
}

/** @param whySamples  if calls were asked for */
export async function recordWholeJvm(
  pidText: string | undefined,
  flags: Flags<'record'>,
  whySamples?: string,
): Promise<void> {
  const samples = wholeJvmSampling(flags)
  const to = Destination.check(flags)
  const durationMs = parseDuration(flags.duration)
  const pid = await jvmFor(pidText, flags)
  const progress = createProgress(process.stderr)
  const place = await Destination.of(flags, to, pid, (line) => progress.note(line))
  const stop = stopSignal()
  try {
    progress.phase(`attaching to ${pid}`)
    if (whySamples !== undefined) progress.note(whySamples)
    const session = await JvmSampling.start(pid, {
      ...samples,
      whySamples,
      onCost: (text) => progress.note(text),
    })
    place.guard(session)
    progress.phase('sampling')
    const ticker = setInterval(() => {
      const { elapsedMs, samples, methods } = session.status()
      progress.update(
        `${Math.round(elapsedMs / 1000)}/${Math.round(durationMs / 1000)} s  ${samples} samples  ${methods} methods`,
      )
    }, STATUS_MS)
    const timer = new Promise<string>((resolve) => {
      setTimeout(resolve, durationMs, 'the time is over').unref()
    })
    const stopped = stop.fired.then((name) => `${name} was received`)
    const why = await Promise.race([timer, stopped, session.ended])
    const { signal } = stop // one that comes later does not change why we end
    clearInterval(ticker)
    progress.phase(`ending: ${why}`)
    await place.release()
    const profile = await finish(session)
    progress.done(describeLeaving(session))
    for (const warning of profile.warnings) progress.note(`warning: ${warning}`)
    const put = await place.put(profile, (text) => progress.phase(text), stop)
    if (put.problem !== null) throw put.problem
    for (const line of put.lines) progress.note(line)
    const problem = orNothing(outcome(session, signal, keptIn(put)), session, profile)
    if (problem !== null) throw problem
  } finally {
    keepStatus()
    stop.dispose()
    progress.close()
  }
}

/**
 * The JVM samples itself from its first moment on. By dumps of its threads it cannot, and is attached to as soon as it lets us.
 *
 * @returns the program's own exit status, 128 + n if signal n ended it
 */
export async function runWholeJvm(command: readonly string[], flags: RunFlags): Promise<number> {
  const samples = wholeJvmSampling(flags)
  const { sampling } = samples
  const headless = flags.record !== undefined
  const progress = createProgress(process.stderr)
  const place = await ProfilePlace.maybeAt(flags.record, flags, (line) => progress.note(line))
  if (!headless) {
    const problem = terminalProblem(process.stdin, process.stdout, process.env)
    if (problem !== null) throw problem
  }
  const output = headless ? null : outputFile(flags.output)
  const door =
    sampling.by === 'stacks' ? null : openRecordingDoor(recorderSampling(sampling), samples.debugInfo)
  const signals = new PassOn()
  try {
    const child = start(command, door?.options ?? [], await outputOf(output, flags))
    signals.to(child)
    const exit = exitOf(child, command[0]!)
    // It has been asked to record itself: where its options have taken the place of ours, it is asked to record once more.
    const as = door === null ? sampling : { ...sampling, by: sampling.by ?? 'jfr' }
    const session = await startWith(child, exit, door, { ...samples, sampling: as, untilExit: true })
    if (session === null) {
      const status = await exit
      if (signals.ending === null) throw new NoJvmStarted(command.join(' '), door && RECORDER_HINT)
      progress.note(`${signals.ending} ended the program before anything was recorded`)
      return status
    }
    signals.knows(session.pid)
    const noteSignal = (): void => {
      if (child.signalCode !== null) session.endedBy(child.signalCode)
    }
    if (headless) {
      place?.guard(session)
      await session.ended
      if (session.ending?.how === 'target ended') {
        await exit // the JVM has gone; how, is known in a moment
        noteSignal()
      }
      await place?.release()
      const profile = await finish(session)
      await place?.keep(profile)
      for (const warning of profile.warnings) progress.note(`warning: ${warning}`)
      progress.note(
        `profile written to ${flags.record}; read it with: jfluid report ${shellWord(flags.record)}`,
      )
    } else {
      await view(session, null, noteSignal)
      const goesOn = child.exitCode === null && child.signalCode === null && signals.ending === null
      progress.note(
        `the program's output is in ${output!.file}${goesOn ? '; it runs on, Ctrl-C ends it' : ''}`,
      )
    }
    return await exit
  } finally {
    signals.dispose()
    progress.close()
    door?.leave()
  }
}

/** A session with the first JVM at or below the child; null if the child ends without one that lived long enough. */
async function startWith(
  child: ChildProcess,
  exit: Promise<number>,
  door: RecordingDoor | null,
  options: JvmSamplingOptions,
): Promise<JvmSampling | null> {
  let ended = false
  void exit.then(
    () => {
      ended = true
    },
    () => {
      ended = true
    },
  )
  if (child.pid === undefined) await exit // which says why
  let patience = Number.POSITIVE_INFINITY
  while (!ended) {
    const started = door?.look() ?? null
    const pid = findJvm(child.pid!)
    if (pid !== undefined) patience = Math.min(patience, performance.now() + OPTIONS_MS)
    // Options of its own may have taken the place of ours.
    if (started === null && (pid === undefined || (door !== null && performance.now() < patience))) {
      await sleep(LOOK_MS)
      continue
    }
    try {
      if (started !== null) return JvmSampling.adopt(started, options)
      return await JvmSampling.start(pid!, options)
    } catch (error) {
      if (error instanceof NoSuchProcess) {
        await sleep(LOOK_MS)
        continue
      }
      child.kill('SIGTERM')
      await exit // until then its recorder needs the repository
      throw error
    }
  }
  return null
}

function findJvm(pid: number): number | undefined {
  if (readTargetProcess(pid)?.vmLibrary != null) return pid
  for (const child of childrenOf(pid)) {
    const found = findJvm(child)
    if (found !== undefined) return found
  }
  return undefined
}

function childrenOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
      readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
    )
  } catch {
    return []
  }
}

/** Shows a session until the user leaves, then reports to the scrollback. */
async function view(
  session: JvmSampling,
  place: ProfilePlace | null,
  onLeft: () => void = () => {},
): Promise<{ readonly how: Leave; readonly profile: Profile }> {
  const signals = endingSignals()
  const screen = await openScreen()
  const stop = stopSignal(signals) // a closed terminal is told twice, see attach.ts
  try {
    let left: Leave
    place?.guard(session)
    try {
      left = await runLiveView(liveSource(session), screen)
    } finally {
      screen.destroy()
    }
    onLeft()
    await place?.release()
    const profile = await finish(session)
    await place?.keep(profile)
    await writePieces(process.stdout, reportPieces(profile, terminalOptions(process.stdout)))
    say(describeLeaving(session))
    if (place !== null) say(`profile written to ${place.path}`)
    return { how: left, profile }
  } finally {
    stop.dispose()
  }
}

async function finish(session: JvmSampling): Promise<Profile> {
  await session.leave()
  const profile = session.profile()
  if (!session.foundNothing) return profile
  const { message, hint } = new NothingSampled(session.pid, profile)
  return { ...profile, warnings: [...profile.warnings, `${message}. ${hint}`] }
}

/** @param how  what is to be told otherwise; null if there is nothing */
function orNothing(how: JfluidError | null, session: JvmSampling, profile: Profile): JfluidError | null {
  return how === null && session.foundNothing ? new NothingSampled(session.pid, profile) : how
}

function describeLeaving({ pid, ending, sampling }: JvmSampling): string {
  switch (ending?.how) {
    case 'target ended':
      return `JVM ${pid} has ended`
    case 'by itself':
      return `sampling of JVM ${pid} had ended by itself`
    case 'target silent':
      return `left JVM ${pid} without its answer`
    default:
      return sampling.by === 'stacks'
        ? `left JVM ${pid}`
        : `left JVM ${pid}: the recording has ended; the flight recorder stays ready in it, with its threads and buffers`
  }
}

function liveSource(session: JvmSampling): LiveSource {
  let lastSamples = 0
  let lastMs = 0
  let rate = 0
  return {
    snapshot: async (perThread) => session.snapshot(perThread),
    methodName: (id) => session.methodName(id),
    status: () => {
      const { samples, methods, elapsedMs, phase, warnings } = session.status()
      if (elapsedMs < lastMs) lastSamples = lastMs = 0 // all was set to zero
      if (elapsedMs - lastMs > 2000) {
        rate = ((samples - lastSamples) * 1000) / (elapsedMs - lastMs)
        lastSamples = samples
        lastMs = elapsedMs
      }
      return {
        pid: session.pid,
        mainClass: session.target.mainClass,
        jdk: session.target.jdk,
        scheme: 'b',
        mode: 'sample',
        roots: session.rootNames,
        isSampledByJvm: true,
        instrumentedMethods: 0,
        calledMethods: methods,
        events: samples,
        eventsPerSecond: Math.max(0, rate),
        waitPercent: 0,
        elapsedMs,
        phase,
        warnings,
      }
    },
    reset: () => session.reset(),
    keeper: sessionKeeper(session),
    ended: session.ended,
  }
}
