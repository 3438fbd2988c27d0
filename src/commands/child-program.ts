// A program that jfluid starts: its command line, its output, its exit status. `run` records calls in the program, or samples the program.

import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, lstatSync, openSync } from 'node:fs'
import { basename } from 'node:path'
import { EX_CANTCREAT, EX_IOERR, EX_NOINPUT, EX_UNAVAILABLE, JfluidError } from '../base/errors.ts'
import { OLDEST_JDK } from '../base/jdk-releases.ts'
import type { Flags } from '../options/table.ts'
import { errorCode, reasonOf } from '../profile/errors.ts'
import type { Session } from '../session/session.ts'
import type { Kept } from './outcome.ts'
import { signalStatus } from './signals.ts'
import type { RecordedSource } from './source.ts'

export class CannotStart extends JfluidError {
  static sample = () => new CannotStart('java', 'no such file')
  readonly exitCode = EX_NOINPUT
  readonly hint = 'Check the command after --, for example: jfluid run --root Foo.main -- java -jar app.jar'
  constructor(command: string, reason: string) {
    super(`cannot start ${command}: ${reason}`)
  }
}

/** No file can be created for the program's output while the live view uses the screen. */
export class CannotWriteOutput extends JfluidError {
  static sample = () => new CannotWriteOutput('jfluid-run-4711.log', 'EACCES')
  readonly exitCode = EX_CANTCREAT
  readonly hint = 'Start jfluid in a directory that you may write to.'
  constructor(file: string, code: string) {
    super(`cannot write ${file}: ${reasonOf(code)}`)
  }
}

/** The program ended before an agent connected, for example because it started no JVM. */
export class NoJvmStarted extends JfluidError {
  static sample = () => new NoJvmStarted('./start.sh')
  readonly exitCode = EX_UNAVAILABLE
  readonly hint: string
  constructor(command: string, hint: string | null = null) {
    super(`${command} ended and started no JVM that jfluid can profile`)
    this.hint =
      hint ??
      `Give a command that starts a JVM of JDK ${OLDEST_JDK} or newer with the module java.instrument.`
  }
}

/** The JVM ended, or its agent detached, while the session began. */
export class EndedBeforeRecording extends JfluidError {
  static sample = () =>
    new EndedBeforeRecording('java', 0, { message: 'the connection to the JVM was lost: closed by the JVM' })
  readonly exitCode = EX_IOERR
  readonly hint =
    'Name a root that calls less if the program ended normally: jfluid run delays main() for at most 10 s, and the probes were not ready by then. No profile was written.'
  constructor(command: string, status: number, { message }: Pick<Error, 'message'>) {
    super(`${command} ended with exit code ${status} before the recording began: ${message}`)
  }
}

export interface RunFlags extends Flags<'run'> {
  /** Sends the program's output to stderr, since stdout contains the result. */
  readonly outputToStderr?: boolean
}

/** Starts a program such that it is recorded from its first moment. */
export interface ProgramDoor {
  /** Options for the JVM of the program. */
  readonly options: readonly string[]
  /** @returns the recording; or a function that creates the error for the exit status, if the program ends before it is recorded */
  begin(
    child: ChildProcess,
    exit: Promise<number>,
    tell: (line: string) => void,
  ): Promise<ProgramRecording | ((status: number) => JfluidError)>
  leave(): void
}

/** The recording of a program, which normally ends together with the program. */
export interface ProgramSource extends RecordedSource {
  /**
   * Error to report after `finish` if the program has succeeded: the session ended too early, the JVM may still have code of jfluid, or the
   * recording lacks data that the user asked for.
   */
  problem(kept: Kept): JfluidError | null
}

interface ProgramRecording {
  readonly source: ProgramSource
  readonly session: Pick<Session, 'pid' | 'ending' | 'endedBy'>
}

/** File for the program's output while the live view uses the screen: a name that does not exist yet. */
export function outputFile(): string {
  const first = `jfluid-run-${process.pid}`
  for (let number = 1; ; number++) {
    const file = number === 1 ? `${first}.log` : `${first}-${number}.log`
    try {
      if (lstatSync(file, { throwIfNoEntry: false }) === undefined) return file
    } catch (error) {
      throw new CannotWriteOutput(file, errorCode(error))
    }
  }
}

/** Destination of the program's output; a number is a file descriptor. */
type Output = 'inherit' | 'stderr' | number

/** @param file  is created exclusively (no link is followed); null if the program keeps the terminal because there is no live view */
export function outputOf(file: string | null, { outputToStderr }: Pick<RunFlags, 'outputToStderr'>): Output {
  if (file === null) return outputToStderr === true ? 'stderr' : 'inherit'
  try {
    return openSync(file, 'wx', 0o600)
  } catch (error) {
    throw new CannotWriteOutput(file, errorCode(error))
  }
}

/** Returns whether only the JVM that the command itself is can be profiled. */
export function isOneJvm([program]: readonly string[], { jvm }: Pick<RunFlags, 'jvm'>): boolean {
  return jvm === undefined && basename(program!) === 'java'
}

/**
 * Starts the program. If it is one JVM, it receives the options as arguments. Otherwise it receives them in JAVA_TOOL_OPTIONS, which every
 * JVM started below it reads.
 *
 * @param output  if it is a descriptor, this function closes it
 */
export function start(
  command: readonly string[],
  options: readonly string[],
  { isOne, output }: { readonly isOne: boolean; readonly output: Output },
): ChildProcess {
  const [program, ...args] = command
  const direct = options.length === 0 || isOne
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

export function exitOf(child: ChildProcess, program: string): Promise<number> {
  return new Promise((resolve, reject) => {
    child.on('error', (error: NodeJS.ErrnoException) => {
      if (child.pid !== undefined) return // a signal could not be sent for lack of permission: the program continues
      reject(new CannotStart(program, error.code === 'ENOENT' ? 'the program was not found' : error.message))
    })
    child.once('exit', (code, signal) => {
      resolve(code ?? signalStatus(signal!)) // either `code` or `signal` is set
    })
  })
}

interface Promised<T> {
  readonly promise: Promise<T>
  resolve(value: T): void
  reject(error: unknown): void
}

/** Returns a promise with its functions. If no code waits for the promise, its rejection is ignored. */
export function promised<T>(): Promised<T> {
  let resolve: (value: T) => void = () => {}
  let reject: (error: unknown) => void = () => {}
  const promise = new Promise<T>((yes, no) => {
    resolve = yes
    reject = no
  })
  promise.catch(() => {})
  return { promise, resolve, reject }
}
