// record --repeat: one session after the other with the same JVM, or with the JVM that replaces it, until a signal or an error that another
// session would not change. Each session prints one line. Between two sessions nothing of jfluid runs in the JVM.
//
// The first session decides whether the options fit the JVM: its error ends the command, unless the error is temporary (EX_TEMPFAIL). Later
// errors are printed, and the interval is doubled until a session succeeds (`repeat-plan.ts`).

import { rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { listJvms } from '../attach/jvms.ts'
import { readMetaspaceUsed } from '../attach/memory-room.ts'
import { startPressure } from '../attach/pressure.ts'
import { readTargetFacts } from '../attach/target-facts.ts'
import { durationText } from '../base/duration.ts'
import { EX_IOERR, EX_NOHOST, EX_TEMPFAIL, JfluidError, UsageError } from '../base/errors.ts'
import type { Flags } from '../options/table.ts'
import { overheadOf } from '../profile/overhead.ts'
import type { SessionRequest } from '../session/session-options.ts'
import { createProgress, type Progress } from '../tui/progress.ts'
import { isContainerName } from './containers/name.ts'
import { Destination, ProfileNotPushed } from './destination.ts'
import { nameNow, timeInName, unusedPath } from './file-name.ts'
import { EndedBySignal, JvmEnded, NotRestored, RootNeverCalled, SessionCutShort } from './outcome.ts'
import { type Recorded, recordOnce } from './record-once.ts'
import {
  againText,
  backOff,
  CLASSES_OF_FAILED_SESSION,
  type Depth,
  depthLabel,
  depthOf,
  depthText,
  isTooYoung,
  MetaspaceAccount,
  neededMethods,
  nextStart,
  overheadLabels,
  recordedText,
  repeatLimits,
  successorOf,
  summaryText,
  type Totals,
  timeOf,
  whyBusy,
} from './repeat-plan.ts'
import { keepStatus, type StopSignal, signalStatus, stopSignal } from './signals.ts'
import { checkHere, jvmsNamed, jvmsWithMainClass, targetOf } from './target.ts'
import { readTargetLabels } from './target-labels.ts'
import { UnpushedProfiles } from './unpushed.ts'
import { checkWait, jvmFor, WaitInterrupted } from './wait-for.ts'

export type RepeatFlags = Flags<'record'> & { readonly repeat: number }

/** A session would last until the next session begins, or longer. */
export class RepeatTooShort extends UsageError {
  static sample = () => new RepeatTooShort(30_000, 30_000)
  readonly hint: string
  constructor(repeatMs: number, durationMs: number) {
    super(
      `--repeat ${durationText(repeatMs)} is not longer than --duration ${durationText(durationMs)}: sessions would have no pause`,
    )
    this.hint = `Give a shorter --duration, or a longer --repeat: --repeat ${durationText(durationMs * 10)}`
  }
}

/** Sessions would follow each other so closely that classes of the JVM are redefined most of the time. */
export class RepeatTooOften extends UsageError {
  static sample = () => new RepeatTooOften(2_000, 10_000)
  readonly hint: string
  constructor(repeatMs: number, minMs: number) {
    super(
      `--repeat ${durationText(repeatMs)} is too short: each session redefines classes of the JVM, and its start and end are pauses`,
    )
    this.hint = `Give at least --repeat ${durationText(minMs)}; --repeat 10m is usual.`
  }
}

/** Each session would replace the file of the session before. */
export class RepeatIntoOneFile extends UsageError {
  static sample = () => new RepeatIntoOneFile('shop.jfluid')
  readonly hint =
    'Give a directory that exists, or a name with %t, which stands for the time: --out shop-%t.jfluid'
  constructor(out: string) {
    super(`with --repeat each session would replace the file ${out} of the session before`)
  }
}

/** The JVM, which was named by its process id, has ended between two sessions. */
export class RepeatedJvmEnded extends JfluidError {
  static sample = () => new RepeatedJvmEnded(4711, '12 sessions in 2:00:00')
  readonly exitCode = EX_IOERR
  readonly hint =
    'Name the JVM by its main class in place of the process id: jfluid then waits until it runs again.'
  constructor(pid: number, summary: string) {
    super(`JVM ${pid} has ended, after ${summary}`)
  }
}

/** Time over which the use of the processors is measured before a session. */
const PRESSURE_MS = 3_000
const FIRST_PRESSURE_MS = 1_000
const MAX_NOTES = 200
/** Interval between two looks into a container that restarts. A look runs the client of the container engine. */
const CONTAINER_POLL_MS = 5_000

/** @throws RepeatTooOften, RepeatTooShort, RepeatIntoOneFile before any JVM is examined */
export async function checkRepeat(
  flags: RepeatFlags,
  { minIntervalMs } = repeatLimits(process.env),
): Promise<void> {
  const { duration, out, repeat } = flags
  if (repeat < minIntervalMs) throw new RepeatTooOften(repeat, minIntervalMs)
  if (repeat <= duration) throw new RepeatTooShort(repeat, duration)
  if (out !== undefined && !out.includes('%t') && !(await isDirectory(out))) throw new RepeatIntoOneFile(out)
}

/** Returns the time since the start of a process, ms. */
function ageOf(pid: number): number {
  return Date.now() - (readTargetFacts(pid)?.process.startedAt ?? 0)
}

async function isDirectory(path: string): Promise<boolean> {
  return await stat(path).then(
    (it) => it.isDirectory(),
    () => false,
  )
}

export async function recordRepeatedly(pidText: string | undefined, flags: RepeatFlags): Promise<void> {
  await checkRepeat(flags)
  Destination.check(flags)
  checkWait(pidText, flags)
  if (pidText !== undefined) checkHere(pidText, '--repeat')
  const repeated = new Repeated(pidText, flags)
  try {
    await repeated.run()
  } finally {
    keepStatus()
    repeated.close()
  }
}

/** What one attempt of a session has led to. */
type Attempt = 'recorded' | 'waiting' | 'skipped' | 'failed' | 'over'

class Repeated {
  readonly #progress = createProgress(process.stderr)
  readonly #stop = stopSignal()
  readonly #begunAt = performance.now()
  #totals: Totals = {
    ...{ recorded: 0, pushed: 0, unpushed: 0, skipped: 0, failed: 0, jvms: 1, longestPauseMs: 0 },
  }
  /** Notes that have been printed, without their numbers. */
  readonly #noted = new Set<string>()
  readonly #unpushed: UnpushedProfiles
  #target: { readonly pid: number; readonly startTicks: number | undefined } | null = null
  /** Main class of the first JVM. */
  #mainClass: string | undefined
  /** Whether the JVM replaces an earlier one. */
  #isSuccessor = false
  readonly #metaspaceBytes = repeatLimits(process.env).metaspaceBytes
  #account = new MetaspaceAccount(this.#metaspaceBytes)
  #depth: Depth = 'methods'
  /** Problem of the session that has not given the target its original code back; null if there is none. */
  #notRestored: NotRestored | null = null

  constructor(
    readonly pidText: string | undefined,
    readonly flags: RepeatFlags,
  ) {
    this.#unpushed = new UnpushedProfiles(flags.out !== undefined, (line) => this.#line(line))
  }

  close(): void {
    this.#stop.dispose()
    this.#progress.close()
  }

  async run(): Promise<void> {
    const { duration, repeat } = this.flags
    const pid = await this.#find()
    if (pid === null) return
    this.#progress.note(
      `recording JVM ${pid} for ${durationText(duration)} every ${durationText(repeat)}; Ctrl-C ends jfluid`,
    )
    let pressure = startPressure(pid)
    await this.#pause(FIRST_PRESSURE_MS)
    const begun = performance.now()
    let planned = begun
    let factor = 1
    while (this.#stop.signal === null) {
      const attempt = await this.#attempt(pressure)
      if (attempt === 'over' || this.#stop.signal !== null) break
      factor = attempt === 'skipped' || attempt === 'failed' ? backOff(factor) : 1
      planned = nextStart(begun, planned, performance.now(), repeat, factor)
      await this.#idle(planned - PRESSURE_MS, () => againText(planned - performance.now(), factor, repeat))
      pressure = startPressure(this.#target?.pid ?? 0)
      await this.#idle(planned, () => againText(planned - performance.now(), factor, repeat))
    }
    this.#end()
  }

  /** Prints the summary. @throws the error of the end, which sets the exit code */
  #end(): void {
    this.#progress.done(this.#summary())
    const { signal } = this.#stop
    if (this.#notRestored !== null) throw this.#notRestored
    if (signal === null || (signal === 'SIGINT' && this.#totals.recorded > 0)) {
      const problem = this.#unpushed.lastProblem
      if (problem !== undefined) throw problem
      process.exitCode = 0
    } else process.exitCode = signalStatus(signal)
  }

  #summary(): string {
    return summaryText(this.#totals, performance.now() - this.#begunAt, this.flags.push !== undefined)
  }

  #add(more: Partial<Totals>): void {
    const sums = Object.entries(more).map(([key, value]) => [key, this.#totals[key as keyof Totals] + value])
    this.#totals = { ...this.#totals, ...Object.fromEntries(sums) }
  }

  async #pause(ms: number): Promise<void> {
    const over = new AbortController()
    const part = this.#stop.part()
    void part.fired.then(() => over.abort())
    await sleep(Math.max(0, ms), undefined, { signal: over.signal }).catch(() => {})
    part.dispose()
  }

  async #idle(untilMs: number, text: () => string): Promise<void> {
    while (performance.now() < untilMs && this.#stop.signal === null) {
      this.#progress.update(text())
      await this.#pause(Math.min(1000, untilMs - performance.now()))
    }
  }

  /** Prints a line with the time. */
  #line(text: string): void {
    this.#progress.note(`${timeOf(new Date())}  ${text}`)
  }

  /** Prints a note once, even if its numbers differ between sessions. */
  #noteOnce(text: string): void {
    const key = text.replace(/\d+/g, '#')
    if (this.#noted.has(key)) return
    if (this.#noted.size >= MAX_NOTES) this.#noted.clear()
    this.#noted.add(key)
    this.#line(text)
  }

  /** Name of the JVM that also names its successor; undefined if the user gave a process id. */
  get #name(): string | undefined {
    const { pidText, flags } = this
    if (flags.waitFor !== undefined) return flags.waitFor
    return pidText === undefined || /^\d*$/.test(pidText) || isContainerName(pidText) ? undefined : pidText
  }

  get #successor(): ReturnType<typeof successorOf> | null {
    return this.#name === undefined ? null : successorOf(this.#name, this.#mainClass)
  }

  /** Whether another JVM may follow when the JVM has ended: it was not named by its process id. */
  get #hasSuccessor(): boolean {
    return this.#name !== undefined || (this.pidText !== undefined && isContainerName(this.pidText))
  }

  /** Returns the process id of the JVM, after a wait if it does not run; null if a signal ended the wait. */
  async #find(): Promise<number | null> {
    const { pidText, flags } = this
    const isAgain = this.#target !== null
    const successor = this.#successor
    try {
      const pid =
        isAgain && successor !== null
          ? await jvmFor(
              undefined,
              { ...flags, waitFor: successor.name },
              successor.isExact ? jvmsWithMainClass : jvmsNamed,
            )
          : await jvmFor(pidText, flags)
      this.#mainClass ??= listJvms().find((it) => it.pid === pid)?.mainClass
      this.#target = { pid, startTicks: readTargetFacts(pid)?.process.startTicks }
      return pid
    } catch (problem) {
      if (problem instanceof WaitInterrupted && this.#stop.signal !== null && isAgain) return null
      throw problem
    }
  }

  /**
   * Makes sure that the JVM runs. If it has ended, waits for its successor.
   *
   * @returns null if a signal ended the wait
   * @throws RepeatedJvmEnded
   */
  async #present(): Promise<number | null> {
    const { pid, startTicks } = this.#target!
    const facts = readTargetFacts(pid)
    const isThere =
      facts !== undefined && facts.process.state !== 'Z' && facts.process.startTicks === startTicks
    if (isThere) return pid
    if (!this.#hasSuccessor) throw new RepeatedJvmEnded(pid, this.#summary())
    const successor = this.#successor
    const what = successor === null ? `in ${this.pidText}` : `'${successor.name}'`
    this.#line(`JVM ${pid} has ended; waiting for a JVM ${what}`)
    const next = successor === null ? await this.#insideAgain(this.pidText!) : await this.#find()
    if (next === null) return null
    this.#target = { pid: next, startTicks: readTargetFacts(next)?.process.startTicks }
    this.#account = new MetaspaceAccount(this.#metaspaceBytes)
    this.#isSuccessor = true
    this.#depth = 'methods'
    this.#noted.clear()
    this.#add({ jvms: 1 })
    this.#line(`JVM ${next} is recorded from now on`)
    return next
  }

  /** Waits until the container, which may restart, has a JVM. Returns null if a signal ended the wait. */
  async #insideAgain(container: string): Promise<number | null> {
    while (this.#stop.signal === null) {
      try {
        return await targetOf(container, false)
      } catch (problem) {
        if (!(problem instanceof JfluidError)) throw problem
        if (problem.exitCode !== EX_NOHOST && problem.exitCode !== EX_TEMPFAIL) throw problem
      }
      await this.#pause(CONTAINER_POLL_MS)
    }
    return null
  }

  async #attempt(pressure: ReturnType<typeof startPressure>): Promise<Attempt> {
    try {
      const before = this.#target!.pid
      const pid = await this.#present()
      if (pid === null) return 'over'
      if (isTooYoung(this.#isSuccessor, ageOf(pid), this.flags.repeat)) return 'waiting'
      const busy = this.flags.yes || pid !== before ? null : whyBusy(pressure())
      if (busy === null) return await this.#session(pid)
      this.#add({ skipped: 1 })
      this.#line(`session skipped: ${busy} (--yes records anyway)`)
      return 'skipped'
    } catch (problem) {
      const isFirst = this.#totals.recorded === 0
      if (!(problem instanceof JfluidError) || problem instanceof RepeatedJvmEnded) throw problem
      if (isFirst && problem.exitCode !== EX_TEMPFAIL) throw problem
      this.#add({ failed: 1 })
      this.#line(`session failed: ${problem.message}. ${problem.hint}`)
      return 'failed'
    }
  }

  async #session(pid: number): Promise<Attempt> {
    const part = this.#stop.part()
    try {
      const account = this.#account
      account.before(await readMetaspaceUsed(pid), performance.now())
      const limits = this.#limits(pid)
      if (limits === null) {
        this.#add({ skipped: 1 })
        return 'waiting'
      }
      let classes = CLASSES_OF_FAILED_SESSION
      let recorded: Recorded | null
      let after: number | undefined
      try {
        recorded = await this.#record(pid, limits, part)
        classes = recorded?.profile.instrumentation.redefinedClasses ?? classes
      } finally {
        // A failed session may have loaded the agent.
        after = await readMetaspaceUsed(pid).catch(() => undefined)
        account.after(after, performance.now(), classes)
      }
      if (recorded === null) return 'over'
      const { problem } = recorded
      await this.#tell(recorded, after === undefined ? null : account)
      if (problem instanceof JvmEnded && !this.#hasSuccessor) throw new RepeatedJvmEnded(pid, this.#summary())
      if (problem instanceof NotRestored) {
        this.#notRestored = problem
        return 'over'
      }
      // The client or the JVM did not get enough processor time, so the interval is doubled.
      return problem instanceof SessionCutShort ? 'failed' : 'recorded'
    } finally {
      part.dispose()
    }
  }

  /** @returns null if a signal ended the session before it recorded */
  async #record(pid: number, limits: Partial<SessionRequest>, stop: StopSignal): Promise<Recorded | null> {
    const { repeat: _, waitFor: _for, waitTimeout: _timeout, ...given } = this.flags
    const flags: Flags<'record'> = {
      ...given,
      autosave: given.autosave ?? 'off',
      ...(given.out !== undefined && { out: await fileOf(given.out, pid) }),
    }
    const ofTarget = readTargetLabels(pid)
    const depth = this.#depth
    return await recordOnce(`${pid}`, flags, {
      ...{ progress: this.#quiet(), stop: () => stop, more: limits, asks: false },
      labelsOf: (profile) =>
        new Map([...ofTarget, ...depthLabel(depth, profile.mode), ...overheadLabels(overheadOf(profile))]),
    })
  }

  /** Returns the limits of a session in a JVM in which earlier sessions have used metaspace; null if nothing may be recorded. */
  #limits(pid: number): Partial<SessionRequest> | null {
    const { leftBytes } = this.#account
    const needs = neededMethods(this.flags)
    const depth = depthOf(this.#account, this.flags.mode, needs)
    if (depth !== this.#depth) this.#line(depthText(depth, this.#account.bytes, pid, needs))
    this.#depth = depth
    if (depth === 'nothing') return null
    if (depth === 'roots') return { metaspaceBytes: 0, scheme: 'adaptive' }
    return leftBytes > 0 ? { metaspaceBytes: leftBytes } : {}
  }

  /** Shows phases only on a terminal, and prints each note once. */
  #quiet(): Progress {
    const progress = this.#progress
    return {
      phase: (text) => progress.update(text),
      update: (text) => progress.update(text),
      note: (text) => this.#noteOnce(text),
      done: (text) => progress.update(text),
      close: () => progress.close(),
    }
  }

  /** Prints the line of a recorded session. Errors of the session are printed, and the next session is planned as usual. */
  async #tell(recorded: Recorded, metaspace: MetaspaceAccount | null): Promise<void> {
    const { profile, put, problem, parts } = recorded
    const { longestPauseMs } = overheadOf(profile)
    this.#add({ recorded: 1, ...(put.store !== null && { pushed: 1 }) })
    this.#totals = {
      ...this.#totals,
      longestPauseMs: Math.max(this.#totals.longestPauseMs, longestPauseMs ?? 0),
    }
    const isEmpty = profile.events.count === 0
    const where = put.store !== null ? 'pushed' : put.path === null ? null : `in ${put.path}`
    const kept = isEmpty && this.flags.push !== undefined ? 'nothing is pushed' : where
    const text = recordedText(profile, metaspace)
    this.#line(`session ${this.#totals.recorded}: ${text}${kept === null ? '' : `, ${kept}`}`)
    for (const line of parts) this.#line(line)
    if (problem !== null && !(problem instanceof RootNeverCalled) && !(problem instanceof EndedBySignal))
      this.#line(problem.message)
    if (put.problem !== null) await this.#notPut(put.problem)
    else if (isEmpty && this.flags.out === undefined && put.path !== null) await rm(put.path, { force: true })
    else if (put.store !== null) await this.#pushAgain()
  }

  /** Keeps the files of the last profiles that were not pushed. */
  async #notPut(problem: JfluidError): Promise<void> {
    this.#line(problem.message)
    this.#add({ unpushed: 1 })
    if (problem instanceof ProfileNotPushed) await this.#unpushed.add(problem)
  }

  async #pushAgain(): Promise<void> {
    const to = Destination.check(this.flags)
    if (to === null) return
    const pushed = await this.#unpushed.pushAgain(to, this.#stop)
    this.#add({ pushed, unpushed: -pushed })
  }
}

/** Returns the file of a session, which does not exist yet: in a directory, or with the time in place of %t. */
async function fileOf(out: string, pid: number): Promise<string> {
  if (!out.includes('%t') && (await isDirectory(out))) return unusedPath(join(out, nameNow(pid, '.jfluid')))
  return unusedPath(out.replaceAll('%t', timeInName(new Date())))
}
