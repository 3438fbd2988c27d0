// jfluid run: controlled start-up (report, section 3). The JVM is started with the agent on its
// command line and held back until the roots are armed, so profiling begins with its first class.

import type { ChildProcess } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { EX_IOERR, JfluidError } from '../base/errors.ts'
import { shellWord } from '../base/shell-word.ts'
import { type OpenDoor, startDoor } from '../session/doors/door.ts'
import { LeftBeforeRecording } from '../session/recording.ts'
import { Session } from '../session/session.ts'
import { createProgress } from '../tui/progress.ts'
import { terminalProblem } from '../tui/screen.ts'
import { LinkLost } from '../wire/link.ts'
import { exitOf, NoJvmStarted, outputFile, outputOf, type RunFlags, start } from './child-program.ts'
import { finish, tellMessages } from './finish.ts'
import { describeMatches } from './matches.ts'
import { commandOptions } from './options.ts'
import { PassOn } from './pass-on.ts'
import { ProfilePlace } from './place.ts'
import { checkPlatform } from './platform.ts'
import { view } from './session-view.ts'
import { isSampledByJvm } from './whole-jvm-options.ts'

/** The process of a JVM that has closed its link ends within it, if it does. */
const ENDING_MS = 1000

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

function endedEarly(signal: NodeJS.Signals): string {
  return `${signal} ended the program before anything was recorded`
}
