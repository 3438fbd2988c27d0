// jfluid run: controlled start-up (report, section 3). The JVM is started with the agent on its
// command line and held back until the roots are armed, so profiling begins with its first class.

import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, lstatSync, openSync } from 'node:fs'
import { basename } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { EX_CANTCREAT, EX_IOERR, EX_NOINPUT, EX_UNAVAILABLE, JfluidError } from '../base/errors.ts'
import { shellWord } from '../base/shell-word.ts'
import type { Flags } from '../options/table.ts'
import { errorCode, reasonOf } from '../profile/errors.ts'
import { openLog } from '../profile/replace-file.ts'
import { type OpenDoor, startDoor } from '../session/doors/door.ts'
import { LeftBeforeRecording } from '../session/recording.ts'
import { Session } from '../session/session.ts'
import { createProgress } from '../tui/progress.ts'
import { terminalProblem } from '../tui/screen.ts'
import { LinkLost } from '../wire/link.ts'
import { finish, tellMessages } from './finish.ts'
import { describeMatches } from './matches.ts'
import { commandOptions } from './options.ts'
import { PassOn } from './pass-on.ts'
import { ProfilePlace } from './place.ts'
import { checkPlatform } from './platform.ts'
import { view } from './session-view.ts'
import { signalStatus } from './signals.ts'
import { isSampledByJvm } from './whole-jvm-options.ts'

/** The process of a JVM that has closed its link ends within it, if it does. */
const ENDING_MS = 1000

export class CannotStart extends JfluidError {
  readonly exitCode = EX_NOINPUT
  readonly hint = 'Check the command after --, for example: jfluid run --root Foo.main -- java -jar app.jar'
  constructor(command: string, reason: string) {
    super(`cannot start ${command}: ${reason}`)
  }
}

/** What the program writes while the live view has the screen can be put nowhere. */
export class CannotWriteOutput extends JfluidError {
  readonly exitCode = EX_CANTCREAT
  readonly hint = 'Choose a file in a directory that you may write to with --output.'
  constructor(file: string, code: string) {
    super(`cannot write ${file}: ${reasonOf(code)}`)
  }
}

/** The program ended, or started no JVM, before an agent connected. */
export class NoJvmStarted extends JfluidError {
  readonly exitCode = EX_UNAVAILABLE
  readonly hint: string
  constructor(command: string, hint: string | null = null) {
    super(`${command} ended without starting a JVM that could be profiled`)
    this.hint = hint ?? 'Give a command that starts a JVM 17 or newer which has the module java.instrument.'
  }
}

/** Its JVM ended, or its agent left, while the session began. */
export class EndedBeforeRecording extends JfluidError {
  readonly exitCode: number
  readonly hint =
    'No profile was written. Where the machine is slow, main() does not wait for longer than 10 s: a smaller root is sooner ready.'
  constructor(command: string, status: number, { message }: JfluidError) {
    super(`${command} ended with ${status} before anything was recorded: ${message}`)
    this.exitCode = status === 0 ? EX_IOERR : status
  }
}

export interface RunFlags extends Flags<'run'> {
  /** What the program prints is not what is asked for. */
  readonly outputToStderr?: boolean
}

/** @returns the program's own exit status, 128 + n if signal n ended it */
export async function run(command: readonly string[], flags: RunFlags): Promise<number> {
  checkPlatform('run', undefined, process.platform)
  if (isSampledByJvm(flags)) {
    const { runWholeJvm } = await import('./whole-jvm.ts')
    return await runWholeJvm(command, flags)
  }
  const options = { ...(await commandOptions(flags)), untilExit: true }
  const headless = flags.record !== undefined
  const progress = createProgress(process.stderr)
  const place = await ProfilePlace.maybeAt(flags.record, flags, (line) => progress.note(line))
  if (!headless) {
    const problem = terminalProblem(process.stdin, process.stdout, process.env)
    if (problem !== null) throw problem
  }
  const output = headless ? null : outputFile(flags.output)
  const door = await startDoor()
  let child: ChildProcess
  let exit: Promise<number>
  const signals = new PassOn()
  try {
    child = start(command, [door.option], await outputOf(output, flags))
    signals.to(child)
    exit = exitOf(child, command[0]!)
  } catch (error) {
    signals.dispose()
    door.leave()
    throw error
  }
  try {
    const gone = new AbortController()
    void exit.then(
      () => gone.abort(),
      () => gone.abort(),
    )
    let open: OpenDoor | null
    try {
      open = await door.connect(child.pid ?? 0, gone.signal, ({ message }) =>
        progress.note(`${message}; it goes on, and jfluid waits for another JVM`),
      )
    } catch (error) {
      child.kill('SIGTERM')
      throw error
    }
    if (open === null) {
      const status = await exit
      if (signals.ending === null) throw new NoJvmStarted(command.join(' '))
      progress.note(endedEarly(signals.ending))
      return status
    }
    let session: Session
    try {
      session = await Session.start(open, options)
    } catch (error) {
      if (!(error instanceof LinkLost || error instanceof LeftBeforeRecording)) {
        child.kill('SIGTERM') // its main() is still held back, as a rule
        throw error
      }
      // It has ended, or runs on: then it is by itself, and nothing to be ended by us.
      const soon = await Promise.race([exit, sleep(ENDING_MS, null, { ref: false })])
      if (soon === null) progress.note(`${error.message}; the program goes on, and is not recorded`)
      const status = await exit
      if (signals.ending === null) throw new EndedBeforeRecording(command.join(' '), status, error)
      progress.note(endedEarly(signals.ending))
      return status
    }
    signals.knows(session.pid)
    const noteSignal = (): void => {
      if (child.signalCode !== null) session.endedBy(child.signalCode)
    }
    if (headless) {
      for (const line of describeMatches(session)) progress.note(line)
      const quiet = tellMessages(session, (line) => progress.note(line))
      place?.guard(session)
      await session.ended
      quiet()
      if (session.ending?.how === 'target ended') {
        await exit // the JVM has gone; how, is known in a moment
        noteSignal()
      }
      await place?.release()
      const finishing = finish(session)
      const { profile } = await (place === null ? finishing : place.orAutosaved(finishing))
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
    door.leave()
  }
}

/** Where the program's output goes while the live view has the screen. */
export interface OutputFile {
  readonly file: string
  readonly flags: 'w' | 'wx'
}

/** @param told  by the user; else it is a name that is free, and nobody can have put a link or a file of his own there */
export function outputFile(told: string | undefined): OutputFile {
  if (told !== undefined) return { file: told, flags: 'w' }
  const first = `jfluid-run-${process.pid}`
  for (let number = 1; ; number++) {
    const file = number === 1 ? `${first}.log` : `${first}-${number}.log`
    try {
      if (lstatSync(file, { throwIfNoEntry: false }) === undefined) return { file, flags: 'wx' }
    } catch (error) {
      throw new CannotWriteOutput(file, errorCode(error))
    }
  }
}

/** Where a program is to write, a file as its descriptor. */
export type Output = 'inherit' | 'stderr' | number

/** @param output  null: it has the terminal, and there is no live view */
export async function outputOf(
  output: OutputFile | null,
  { outputToStderr }: Pick<RunFlags, 'outputToStderr'>,
): Promise<Output> {
  if (output === null) return outputToStderr === true ? 'stderr' : 'inherit'
  const { file, flags } = output
  try {
    return flags === 'w' ? await openLog(file) : openSync(file, flags, 0o600)
  } catch (error) {
    throw new CannotWriteOutput(file, errorCode(error))
  }
}

/**
 * `java` gets the options itself; any other command finds them in JAVA_TOOL_OPTIONS, which every JVM below
 * it reads. Only the first of them is profiled.
 *
 * @param output  a descriptor is closed
 */
export function start(command: readonly string[], options: readonly string[], output: Output): ChildProcess {
  const [program, ...args] = command
  const direct = options.length === 0 || basename(program!) === 'java'
  const tools = [process.env.JAVA_TOOL_OPTIONS, ...options].filter(Boolean).join(' ')
  const env = direct ? process.env : { ...process.env, JAVA_TOOL_OPTIONS: tools }
  const argv = direct ? [...options, ...args] : args
  if (output === 'inherit') return spawn(program!, argv, { stdio: 'inherit', env })
  if (output === 'stderr') return spawn(program!, argv, { stdio: ['inherit', 2, 'inherit'], env })
  try {
    return spawn(program!, argv, { stdio: ['ignore', output, output], env })
  } finally {
    closeSync(output)
  }
}

function endedEarly(signal: NodeJS.Signals): string {
  return `${signal} ended the program before anything was recorded`
}

export function exitOf(child: ChildProcess, program: string): Promise<number> {
  return new Promise((resolve, reject) => {
    child.on('error', (error: NodeJS.ErrnoException) => {
      if (child.pid !== undefined) return // a signal that may not be sent: the program goes on
      reject(new CannotStart(program, error.code === 'ENOENT' ? 'there is no such program' : error.message))
    })
    child.once('exit', (code, signal) => {
      resolve(code ?? signalStatus(signal!)) // one of them is always there
    })
  })
}
