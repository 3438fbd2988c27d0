// attach, record and run with --mode sample, if the JVM samples its threads itself. No agent is used; screens, files and exit statuses are
// the same as in other modes.

import type { ChildProcess } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { NoSuchProcess } from '../attach/admission.ts'
import { childrenOf, readTargetProcess } from '../attach/target-process.ts'
import type { JfluidError } from '../base/errors.ts'
import type { SessionFlags } from '../options/table.ts'
import type { Profile } from '../profile/profile.ts'
import { JvmSampling, type JvmSamplingOptions, recorderSampling } from '../session/sampling/jvm-sampling.ts'
import { openRecordingDoor, type RecordingDoor } from '../session/sampling/recording-door.ts'
import { type LiveSource, runLiveView } from '../tui/app.ts'
import { NoJvmStarted, type ProgramDoor, type ProgramSource } from './child-program.ts'
import { sessionKeeper, sessionRanges } from './keeper.ts'
import { badEnd, NothingSampled, outcome } from './outcome.ts'
import type { Way } from './source.ts'
import { threadText } from './threads.ts'
import { jvmFor, type WaitFlags } from './wait-for.ts'
import { wholeJvmSampling } from './whole-jvm-options.ts'

/** Advice if no JVM began to record. The started program prints the reason. */
const RECORDER_HINT =
  'Give a command that starts a JVM of JDK 17 or newer with a flight recorder (module jdk.jfr, no -XX:-FlightRecorder), or use jfluid record once the program runs.'
const STATUS_INTERVAL_MS = 500
/** Interval of the checks for the JVM of a program that has just been started. */
const CHECK_INTERVAL_MS = 10
/** Maximum time from the appearance of a JVM until it records, if its own options do not replace the options of jfluid. */
const RECORDING_TIMEOUT_MS = 20_000

type WholeJvmFlags = SessionFlags & WaitFlags

/** @param whySamples  reason for sampling, if the user asked for calls */
export function wholeJvm(pidText: string | undefined, flags: WholeJvmFlags, whySamples?: string): Way {
  const samples = wholeJvmSampling(flags)
  return async ({ progress, isShown, found }) => {
    const pid = await jvmFor(pidText, flags)
    await found(pid)
    progress.phase(`attaching to ${pid}`)
    if (whySamples !== undefined && !isShown) progress.note(whySamples)
    const onCost = (text: string): void => progress.note(text)
    return sampledSource(await JvmSampling.start(pid, { ...samples, whySamples, onCost }))
  }
}

/** Starts a JVM that samples itself from its first moment. */
export function sampledProgram(command: readonly string[], flags: SessionFlags): () => ProgramDoor {
  const samples = wholeJvmSampling(flags)
  const { sampling } = samples
  return () => {
    const door = openRecordingDoor(recorderSampling(sampling), samples.debugInfo)
    // The JVM was started with recording options. If the JVM's own options have replaced the recording options, a command starts a
    // recording later.
    const as = { ...sampling, by: sampling.by ?? 'jfr' }
    return {
      options: door.options,
      async begin(child, exit) {
        const session = await startWith(child, exit, door, { ...samples, sampling: as, untilExit: true })
        if (session !== null) return { session, source: sampledSource(session) }
        return () => new NoJvmStarted(command.join(' '), RECORDER_HINT)
      },
      leave: () => door.leave(),
    }
  }
}

/** Returns a session with the first JVM at or below the child; null if the child ends before a JVM can be recorded. */
async function startWith(
  child: ChildProcess,
  exit: Promise<number>,
  door: RecordingDoor,
  options: JvmSamplingOptions,
): Promise<JvmSampling | null> {
  let ended = false
  void exit
    .catch(() => {})
    .then(() => {
      ended = true
    })
  if (child.pid === undefined) await exit // `exit` rejects with the reason
  let deadline = Number.POSITIVE_INFINITY
  while (!ended) {
    const started = door.look()
    const pid = findJvm(child.pid!)
    if (pid !== undefined) deadline = Math.min(deadline, performance.now() + RECORDING_TIMEOUT_MS)
    // The JVM's own options may have replaced the options of jfluid.
    if (started === null && (pid === undefined || performance.now() < deadline)) {
      await sleep(CHECK_INTERVAL_MS)
      continue
    }
    try {
      if (started !== null) return JvmSampling.adopt(started, options)
      return await JvmSampling.start(pid!, options)
    } catch (error) {
      if (error instanceof NoSuchProcess) {
        await sleep(CHECK_INTERVAL_MS)
        continue
      }
      child.kill('SIGTERM')
      await exit // the JVM's recorder needs the repository until the JVM has ended
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

function sampledSource(session: JvmSampling): ProgramSource {
  let profile: Profile | undefined
  const nothing = (): JfluidError | null =>
    profile !== undefined && session.foundNothing ? nothingSampled(session, profile) : null
  return {
    ended: session.ended,
    saved: session,
    called: 'profile',
    phase: 'sampling',
    everyMs: STATUS_INTERVAL_MS,
    async status() {
      const { samples, methods } = session.status()
      return `${samples} samples  ${methods} methods`
    },
    matches: () => [],
    tellMessages: () => () => {},
    async finish() {
      profile = await finish(session)
      return { profile, described: [describeLeaving(session)] }
    },
    outcome: async (signal, kept) => outcome(session, signal, kept) ?? nothing(),
    problem: (kept) => badEnd(session, kept) ?? nothing(),
    drawn: async (sources) => (screen) =>
      runLiveView({ ...liveSource(session), ...(sources !== undefined && { sources }) }, screen),
  }
}

function nothingSampled({ ending, pid }: JvmSampling, profile: Profile): NothingSampled {
  return new NothingSampled(ending?.how === 'target ended' ? null : pid, profile)
}

async function finish(session: JvmSampling): Promise<Profile> {
  await session.leave()
  const profile = session.profile()
  if (!session.foundNothing) return profile
  const { message, hint } = nothingSampled(session, profile)
  return { ...profile, warnings: [...profile.warnings, `${message}. ${hint}`] }
}

function describeLeaving({ pid, ending, sampling }: JvmSampling): string {
  switch (ending?.how) {
    case 'target ended':
      return `JVM ${pid} has ended`
    case 'by itself':
      return `the sampling of JVM ${pid} had ended before`
    case 'target silent':
      return `detached from JVM ${pid} without an answer`
    default:
      return sampling.by === 'stacks'
        ? `detached from JVM ${pid}`
        : `stopped the recording in JVM ${pid}; its flight recorder stays initialized, with its threads and buffers`
  }
}

function liveSource(session: JvmSampling): LiveSource {
  /** Values at the previous computation of the rate. */
  let last = { samples: 0, elapsedMs: 0 }
  let rate = 0
  return {
    snapshot: async (perThread) => session.snapshot(perThread),
    methodName: (id) => session.methodName(id),
    linesOf: (id) => session.linesOf(id),
    status: () => {
      const { samples, methods, elapsedMs, phase, warnings } = session.status()
      if (elapsedMs < last.elapsedMs) last = { samples: 0, elapsedMs: 0 } // the counts were reset
      const spentMs = elapsedMs - last.elapsedMs
      if (spentMs > 2000) {
        rate = ((samples - last.samples) * 1000) / spentMs
        last = { samples, elapsedMs }
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
        codeSince: { at: session.jvmStartedAt, what: 'the JVM started' },
        elapsedMs,
        phase,
        warnings,
      }
    },
    dumpThreads: async (isConfirmed) => threadText(await session.dumpThreads(isConfirmed)),
    reset: () => session.reset(),
    keeper: sessionKeeper(session),
    ranges: sessionRanges(session, () => 'sample'),
    ended: session.ended,
  }
}
