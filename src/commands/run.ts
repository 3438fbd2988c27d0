// jfluid run: controlled start-up (report, section 3). The JVM is started with the agent on its command line. main() is held back until the
// roots are instrumented, so profiling begins with the first class of the program.

import { setTimeout as sleep } from 'node:timers/promises'
import type { JfluidError } from '../base/errors.ts'
import { shellWord } from '../base/shell-word.ts'
import { checkNotSampled } from '../options/refusals.ts'
import { askingDoor } from '../session/doors/asking-door.ts'
import { startDoor } from '../session/doors/start-door.ts'
import { LeftBeforeRecording } from '../session/recording.ts'
import { Session } from '../session/session.ts'
import type { SessionRequest } from '../session/session-options.ts'
import { createProgress } from '../tui/progress.ts'
import { terminalProblem } from '../tui/screen.ts'
import { LinkLost } from '../wire/link.ts'
import {
  EndedBeforeRecording,
  exitOf,
  isOneJvm,
  NoJvmStarted,
  outputFile,
  outputOf,
  type ProgramDoor,
  type RunFlags,
  start,
} from './child-program.ts'
import { CalledElsewhere, FurtherJvms } from './further-jvms.ts'
import { commandOptions } from './options.ts'
import { NothingSampled, RootNeverCalled, RootNeverLoaded } from './outcome.ts'
import { PassOn } from './pass-on.ts'
import { ProfilePlace } from './place.ts'
import { checkPlatform } from './platform.ts'
import { sessionSource } from './session-source.ts'
import { sourcesOf } from './sources.ts'
import { StartedJvms } from './started-jvms.ts'
import { view } from './view.ts'
import { isSampledByJvm } from './whole-jvm-options.ts'

/** Maximum time between the close of a JVM's link and the end of its process. */
const EXIT_TIMEOUT_MS = 1000

/**
 * @returns the program's own exit status, 128 + n if signal n ended it
 * @throws errors of `ProgramSource.problem` if the program has succeeded
 */
export async function run(command: readonly string[], flags: RunFlags): Promise<number> {
  checkPlatform('run', undefined, process.platform)
  const sources = await sourcesOf(flags)
  const openDoor = await doorOf(command, flags)
  const headless = flags.record !== undefined
  const progress = createProgress(process.stderr)
  const note = (line: string): void => progress.note(line)
  const place = headless ? await ProfilePlace.at(flags.record, flags, note) : null
  if (!headless) {
    const problem = terminalProblem(process.stdin, process.stdout, process.env)
    if (problem !== null) throw problem
  }
  const output = headless ? null : outputFile()
  const door = await openDoor()
  const signals = new PassOn()
  try {
    const isOne = isOneJvm(command, flags)
    const child = start(command, door.options, { isOne, output: outputOf(output, flags) })
    signals.to(child)
    const exit = exitOf(child, command[0]!)
    const begun = await door.begin(child, exit, note)
    if (typeof begun === 'function') {
      const status = await exit
      if (signals.ending !== null) {
        note(`${signals.ending} ended the program before the recording began`)
        return status
      }
      const problem = begun(status)
      if (status === 0) throw problem
      // A failure of the program has priority: a build must see the exit status of its tests.
      note(`jfluid: ${problem.message}`)
      note(`  ${problem.hint}`)
      return status
    }
    const { source, session } = begun
    signals.knows(session.pid)
    const further = new FurtherJvms(child.pid ?? session.pid, session.pid)
    void exit.finally(() => further.stop()).catch(() => {})
    const noteSignal = (): void => {
      if (child.signalCode !== null) session.endedBy(child.signalCode)
    }
    if (place !== null) {
      for (const line of source.matches()) note(line)
      const quiet = source.tellMessages(note)
      if (source.saved !== undefined) place.guard(source.saved)
      await source.ended
      quiet()
      if (session.ending?.how === 'target ended') {
        await exit // the JVM has ended; its status will be known shortly
        noteSignal()
      }
      await place.release()
      const { profile, parts = [] } = await place.orAutosaved(source.finish(note))
      await place.keep(profile)
      for (const line of parts) note(line)
      for (const warning of profile.warnings) note(`warning: ${warning}`)
      note(`profile written to ${place.path}; read it with: jfluid report ${shellWord(place.path)}`)
    } else {
      await view(source, null, [], { sources, onLeft: noteSignal })
      const goesOn = child.exitCode === null && child.signalCode === null && signals.ending === null
      note(`the program's output is in ${output}${goesOn ? '; the program continues, Ctrl-C ends it' : ''}`)
    }
    const status = await exit
    const problem = status === 0 ? source.problem(place?.path ?? null) : null // a failure of the program has priority
    if (problem !== null) throw elsewhere(problem, session.pid, flags.root ?? [], further.names)
    return status
  } finally {
    signals.dispose()
    progress.close()
    door.leave()
  }
}

/** Returns a more specific error if the roots may have run in JVMs that were not profiled. */
function elsewhere(
  problem: JfluidError,
  pid: number,
  roots: readonly string[],
  further: readonly (string | number)[],
): JfluidError {
  const isUnseen =
    problem instanceof RootNeverLoaded ||
    problem instanceof RootNeverCalled ||
    problem instanceof NothingSampled
  return isUnseen && further.length > 0 ? new CalledElsewhere(pid, roots, further) : problem
}

async function doorOf(
  command: readonly string[],
  flags: RunFlags,
): Promise<() => ProgramDoor | Promise<ProgramDoor>> {
  if (isSampledByJvm(flags)) {
    checkNotSampled('run', { ...flags })
    return (await import('./whole-jvm.ts')).sampledProgram(command, flags)
  }
  const options = { ...(await commandOptions(flags)), untilExit: true }
  return () =>
    isOneJvm(command, flags) ? oneJvmDoor(command, options) : severalJvmsDoor(command, flags, options)
}

/** The agent is on the command line, and holds `main()` back until the roots are instrumented. */
async function oneJvmDoor(command: readonly string[], options: SessionRequest): Promise<ProgramDoor> {
  const door = await startDoor()
  return {
    options: [door.option],
    async begin(child, exit, note) {
      const gone = new AbortController()
      void exit.catch(() => {}).then(() => gone.abort())
      try {
        const open = await door.connect(child.pid ?? 0, gone.signal)
        if (open === null) return () => new NoJvmStarted(command.join(' '))
        const session = await Session.start(open, options)
        return { session, source: sessionSource(session, true) }
      } catch (error) {
        if (!(error instanceof LinkLost || error instanceof LeftBeforeRecording)) {
          child.kill('SIGTERM') // main() is usually still held back
          throw error
        }
        // The JVM has ended, or continues without the session. A JVM that continues must not be killed.
        const soon = await Promise.race([exit, sleep(EXIT_TIMEOUT_MS, null, { ref: false })])
        if (soon === null) note(`${error.message}; the program continues without being recorded`)
        return (status) => new EndedBeforeRecording(command.join(' '), status, error)
      }
    },
    leave: () => door.leave(),
  }
}

/** The agent is in JAVA_TOOL_OPTIONS. Each JVM below the command loads the agent, and holds its `main()` back until a session has begun. */
async function severalJvmsDoor(
  command: readonly string[],
  flags: RunFlags,
  options: SessionRequest,
): Promise<ProgramDoor> {
  let tell = (_: string): void => {}
  const jvms = new StartedJvms(flags, options, (line) => tell(line))
  const door = await askingDoor({
    asked: (jvm) => jvms.take(jvm),
    failed: (pid, reason) => jvms.cannotAsk(pid, reason),
  })
  return {
    options: [door.option],
    async begin(child, exit, note) {
      tell = note
      try {
        const isShown = flags.record === undefined
        const session = await (isShown ? jvms.firstCalled(exit) : jvms.begun(exit))
        if (session === null) return (status) => jvms.nothing(command.join(' '), status)
        return { session, source: isShown ? jvms.shownSource(session) : jvms.source(exit) }
      } catch (error) {
        child.kill('SIGTERM')
        throw error
      }
    },
    leave: () => door.leave(),
  }
}
