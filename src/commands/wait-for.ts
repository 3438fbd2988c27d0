// --wait-for: waits for a JVM that has not been started yet.

import { appeared } from '../attach/appearing.ts'
import { type Jvm, listJvms } from '../attach/jvms.ts'
import { durationText } from '../base/duration.ts'
import { EX_NOHOST, JfluidError, UsageError } from '../base/errors.ts'
import type { Flags } from '../options/table.ts'
import { BadPattern } from '../reveal/errors.ts'
import { createProgress } from '../tui/progress.ts'
import { isContainerName } from './containers/name.ts'
import { signalStatus, stopSignal } from './signals.ts'
import { AmbiguousName, checkHere, jvmsNamed, targetOf } from './target.ts'

export type WaitFlags = Pick<Flags<'attach'>, 'waitFor' | 'waitTimeout'>

export class WaitForWithPid extends UsageError {
  static sample = () => new WaitForWithPid('4711')
  readonly hint = 'Leave one of the two out.'
  constructor(pid: string) {
    super(`--wait-for cannot be combined with '${pid}': both name a JVM`)
  }
}

export class NoJvmAppeared extends JfluidError {
  static sample = () => new NoJvmAppeared('OrderServer', '2m')
  readonly exitCode = EX_NOHOST
  readonly hint = 'List the main classes of the running JVMs: jfluid ps'
  constructor(pattern: string, time: string) {
    super(`no JVM with the main class '${pattern}' was started within ${time}`)
  }
}

/** A signal ended the wait. Nothing has been touched. */
export class WaitInterrupted extends JfluidError {
  static sample = () => new WaitInterrupted('OrderServer', 'SIGINT')
  readonly exitCode: number
  readonly hint = 'Start the command again: nothing was changed.'
  constructor(pattern: string, signal: NodeJS.Signals) {
    super(`${signal} ended the wait for a JVM with the main class '${pattern}'`)
    this.exitCode = signalStatus(signal)
  }
}

const PATTERN_HINT = "Write a main class, a part of one, or a pattern such as 'com.shop.*' or 'shop-*.jar'."
const WAIT_INSIDE =
  'Give the main class of the JVM, which jfluid also finds in containers. For a running container, give container:name in place of a process id.'
const TICK_INTERVAL_MS = 1000

/** @throws BadPattern, WaitForWithPid before any JVM is examined */
export function checkWait(pidText: string | undefined, { waitFor }: WaitFlags): void {
  if (waitFor === undefined) return
  if (pidText !== undefined) throw new WaitForWithPid(pidText)
  if (isContainerName(waitFor))
    throw new BadPattern('main class', waitFor, 'it names a container', WAIT_INSIDE)
  checkHere(waitFor, '--wait-for')
  if (waitFor.trim() === '') throw new BadPattern('main class', waitFor, 'it is empty', PATTERN_HINT)
}

/**
 * Returns the JVM of a command: by process id or name, by the user's choice, or with --wait-for the first JVM that matches. A JVM that
 * already runs is accepted as well.
 *
 * @param named  returns the JVMs that a pattern means
 * @throws BadPid, AmbiguousName, NoPid, NothingPicked, NoJvmAppeared, WaitInterrupted, and errors of `checkWait`
 */
export async function jvmFor(
  pidText: string | undefined,
  flags: WaitFlags,
  named: (name: string, jvms: readonly Jvm[]) => readonly Jvm[] = jvmsNamed,
): Promise<number> {
  checkWait(pidText, flags)
  const { waitFor: pattern, waitTimeout } = flags
  if (pattern === undefined) return await targetOf(pidText)
  const meant = (): readonly Jvm[] => named(pattern, listJvms().filter(isOurs))
  const there = meant()
  if (there.length > 1) throw new AmbiguousName(pattern, there)
  return await waited(pattern, meant, waitTimeout)
}

/** On a shared machine, JVMs of other users are ignored. */
function isOurs({ uid }: Pick<Jvm, 'uid'>): boolean {
  const own = process.geteuid?.()
  return own === 0 || uid === own
}

async function waited(
  pattern: string,
  meant: () => readonly Jvm[],
  timeoutMs: number | undefined,
): Promise<number> {
  const time = timeoutMs === undefined ? undefined : durationText(timeoutMs)
  const progress = createProgress(process.stderr)
  const stop = stopSignal()
  const over = new AbortController()
  void stop.fired.then(() => over.abort())
  const timer = timeoutMs === undefined ? undefined : setTimeout(() => over.abort(), timeoutMs)
  const begun = performance.now()
  const text = `waiting for a JVM whose main class is '${pattern}'`
  const bound = time === undefined ? '' : ` of ${time}`
  // This message is printed only if the JVM does not exist yet.
  const first = setTimeout(() => {
    progress.phase(`${text}${time === undefined ? '' : `, for ${time}`}`)
    const others = listJvms().filter((it) => !isOurs(it))
    for (const { pid, user } of jvmsNamed(pattern, others)) progress.note(`JVM ${pid} belongs to ${user}`)
  })
  const ticker = setInterval(() => {
    progress.update(`${text}: ${Math.round((performance.now() - begun) / 1000)} s${bound}`)
  }, TICK_INTERVAL_MS)
  try {
    const jvm = await appeared(meant, over.signal)
    if (stop.signal !== null) throw new WaitInterrupted(pattern, stop.signal)
    if (jvm === null) throw new NoJvmAppeared(pattern, time ?? '')
    // The pattern may be a part of an unexpected name, so the full name is printed.
    progress.note(`JVM ${jvm.pid}: ${jvm.mainClass ?? '?'}`)
    return jvm.pid
  } finally {
    clearTimeout(timer)
    clearTimeout(first)
    clearInterval(ticker)
    stop.dispose()
    progress.close()
  }
}
