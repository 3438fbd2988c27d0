// The JVMs that a command of `jfluid run` starts, such as the test JVMs of a build tool. Which JVM runs the root is known only when the root
// is called. So each JVM has a session, and the profile contains the JVMs in which a root was called.

import { setTimeout as sleep } from 'node:timers/promises'
import { mainClassOf } from '../attach/java-command.ts'
import { readCommand } from '../attach/target-process.ts'
import { EX_NOTCALLED, EX_UNAVAILABLE, JfluidError, NeedsConsent, UsageError } from '../base/errors.ts'
import { shellWord } from '../base/shell-word.ts'
import { notSummed } from '../options/refusals.ts'
import type { SessionFlags } from '../options/table.ts'
import { rootCalls } from '../profile/compare.ts'
import type { Profile } from '../profile/profile.ts'
import { plural } from '../profile/text.ts'
import { together } from '../profile/together.ts'
import type { AskingJvm } from '../session/doors/asking-door.ts'
import { type OpenDoor, startProblem } from '../session/doors/door.ts'
import { BadProfiler } from '../session/preparation.ts'
import { Session } from '../session/session.ts'
import type { SessionRequest } from '../session/session-options.ts'
import { LinkLost } from '../wire/link.ts'
import { EndedBeforeRecording, NoJvmStarted, type ProgramSource, promised } from './child-program.ts'
import { describeDetach, finish, tellMessages } from './finish.ts'
import { type Named, NotAllRecorded, nameOf, ownPlaces, type Problem, told } from './group.ts'
import { describeMatches } from './matches.ts'
import { badEnd, type Kept, missing, NotRestored } from './outcome.ts'
import type { PlaceFlags } from './place.ts'
import { sessionSource } from './session-source.ts'
import type { SourceResult } from './source.ts'
import { jvmsNamed } from './target.ts'

/** Maximum number of sessions at a time. Each session needs an event buffer, and a recording thread in this process. */
const MAX_SESSIONS = 16
/** Maximum number of JVMs in a message. */
const MAX_NAMED = 4
/** Interval of the checks for the first call of a root. */
const FIRST_CALL_INTERVAL_MS = 100
const STATUS_INTERVAL_MS = 500
/** Maximum time from the end of the command until the connections of its ended JVMs are seen to be closed. */
const END_TIMEOUT_MS = 1000

/** A JVM in which no root was called. */
interface IdleJvm extends Named {
  /** Names of loaded methods that resemble a root. */
  readonly near: readonly string[]
  /** Whether a root was loaded. */
  readonly hasRoot: boolean
}

/** A JVM without a complete recording. */
interface UnrecordedJvm {
  readonly jvm: Named
  readonly reason: string
  /** Null if the JVM has ended, or was not asked to begin a session. */
  readonly error: JfluidError | null
}

/** The command has started several JVMs, and no root was called in a recorded JVM. */
export class NoJvmRanRoot extends JfluidError {
  static sample = () => [
    new NoJvmRanRoot(
      ['OrderTest.place'],
      [
        { pid: 4711, mainClass: 'Launcher', near: [], hasRoot: false },
        {
          pid: 4712,
          mainClass: 'surefirebooter.jar',
          near: ['com.acme.shop.OrderTest.placed'],
          hasRoot: false,
        },
      ],
    ),
    new NoJvmRanRoot(
      ['OrderTest.place'],
      [
        { pid: 4711, mainClass: 'Launcher', near: [], hasRoot: false },
        { pid: 4712, mainClass: 'surefirebooter.jar', near: [], hasRoot: true },
      ],
    ),
    new NoJvmRanRoot(
      ['OrderTest.place'],
      [
        { pid: 4711, mainClass: 'Launcher', near: [], hasRoot: false },
        { pid: 4712, mainClass: 'surefirebooter.jar', near: [], hasRoot: false },
      ],
    ),
    new NoJvmRanRoot(
      ['OrderTest.place'],
      [{ pid: 4711, mainClass: 'Launcher', near: [], hasRoot: false }],
      [
        {
          jvm: { pid: 4712, mainClass: 'surefirebooter.jar' },
          reason: 'the JVM ended before its recording began',
          error: null,
        },
      ],
    ),
  ]
  readonly exitCode = EX_NOTCALLED
  readonly hint: string
  /** @param others  JVMs that were not recorded */
  constructor(roots: readonly string[], jvms: readonly IdleJvm[], others: readonly UnrecordedJvm[] = []) {
    const all = jvms.length === 1 ? 'the JVM' : `the ${jvms.length} JVMs`
    const also = others.length === 0 ? '' : `; ${unrecordedText(others)}`
    super(`no call of ${roots.join(', ')} was recorded in ${all} of the command: ${listed(jvms)}${also}`)
    const similar = jvms.find(({ near }) => near.length > 0)
    const loaded = jvms.filter(({ hasRoot }) => hasRoot)
    if (loaded.length > 0) {
      this.hint = `Name a method that the program calls: the class was loaded in ${listed(loaded)}, but the method was not called.`
    } else if (similar !== undefined) {
      const others = similar.near.slice(1, MAX_NAMED)
      const also = others.length > 0 ? `; also close: ${others.join(', ')}` : ''
      this.hint = `Try --root ${shellWord(similar.near[0]!)}, which ${nameOf(similar)} has loaded${also}`
    } else if (others.length > 0) {
      const error = others.find((it) => it.error !== null)?.error
      this.hint = error?.hint ?? 'Try again: the root may have been called in a JVM that was not recorded.'
    } else {
      this.hint =
        'Check the name, and that the command runs the code: build tools skip work that is up to date, and a daemon that already runs does not load the agent (gradle --no-daemon).'
    }
  }
}

/** No JVM of the command has the name of --jvm. */
export class NoJvmOfThatName extends JfluidError {
  static sample = () =>
    new NoJvmOfThatName('failsafe', [
      { pid: 4711, mainClass: 'Launcher' },
      { pid: 4712, mainClass: 'surefirebooter.jar' },
    ])
  readonly exitCode = EX_UNAVAILABLE
  readonly hint: string
  constructor(pattern: string, jvms: readonly Named[]) {
    super(`the command started no JVM with the main class '${pattern}'`)
    this.hint = `Use one of the started JVMs, or leave --jvm out to profile the JVMs that call the root: ${listed(jvms)}`
  }
}

/** Returns a list such as "1 JVM was not recorded: JVM 4712 (Main): the JVM ended before its recording began". */
function unrecordedText(jvms: readonly UnrecordedJvm[]): string {
  const which = jvms.slice(0, MAX_NAMED).map(({ jvm, reason }) => told(jvm, reason))
  const more = jvms.length > MAX_NAMED ? `, and ${jvms.length - MAX_NAMED} more` : ''
  return `${jvms.length === 1 ? '1 JVM was' : `${jvms.length} JVMs were`} not recorded: ${which.join(', ')}${more}`
}

function listed(jvms: readonly Named[]): string {
  const more = jvms.length > MAX_NAMED ? ` and ${jvms.length - MAX_NAMED} more` : ''
  return jvms.slice(-MAX_NAMED).map(nameOf).join(', ') + more
}

/** A JVM whose session has ended. */
interface Recorded {
  readonly jvm: Named
  readonly session: Session
  readonly profile: Profile
}

interface StartedFlags extends SessionFlags, PlaceFlags {
  readonly jvm?: string | undefined
  readonly record?: string | undefined
}

export class StartedJvms {
  /** Sessions that have begun and not ended. */
  readonly #running = new Map<Session, Named>()
  /** Attempts to record a JVM, each from its question to the end of its session. */
  readonly #attempts = new Set<Promise<void>>()
  readonly #recorded: Recorded[] = []
  /** JVMs that --jvm does not name. */
  readonly #others: Named[] = []
  /** JVMs without a session. */
  readonly #unrecorded: UnrecordedJvm[] = []
  /** Errors of sessions that had changed a JVM. Whether these JVMs have their code back is not known. */
  readonly #problems: Problem[] = []
  /** Reason why a JVM had no session: it ended first. */
  #ended: LinkLost | null = null
  /** Without --record: the session that is shown. It ends by its view. */
  #shown: Session | null = null
  #isOver = false
  readonly #over = promised<void>()
  readonly #first = promised<Session>()
  /** Rejects with an error that affects all JVMs. */
  readonly #fatal = promised<never>()

  constructor(
    private readonly flags: StartedFlags,
    private readonly options: SessionRequest,
    private readonly tell: (line: string) => void,
  ) {}

  /** Begins a session with a JVM that asks, or declines. */
  take(jvm: AskingJvm): void {
    const isOther = this.flags.jvm !== undefined && jvmsNamed(this.flags.jvm, [jvm]).length === 0
    if (isOther) this.#others.push(jvm)
    const isFull = !isOther && this.#attempts.size >= MAX_SESSIONS
    if (isFull) {
      const reason = `${MAX_SESSIONS} JVMs are being recorded`
      this.tell(`${nameOf(jvm)} is not recorded: ${reason}`)
      this.#unrecorded.push({ jvm, reason, error: null })
    }
    if (this.#isOver || isOther || isFull) {
      jvm.decline()
      return
    }
    const attempt = this.#record(jvm).catch((error: unknown) => this.#fatal.reject(error))
    this.#attempts.add(attempt)
    void attempt.finally(() => this.#attempts.delete(attempt))
  }

  async #record(jvm: AskingJvm): Promise<void> {
    const session = await this.#started(jvm)
    if (session === null) return
    this.#running.set(session, jvm)
    this.#first.resolve(session)
    const tell = (line: string): void => this.tell(told(jvm, line))
    // Before main(), the class of a root is normally not loaded. Most JVMs of a build tool never load the class, so this is not printed.
    if (session.rootReport().some(({ armed }) => !armed))
      for (const line of describeMatches(session)) tell(line)
    const quiet = tellMessages(session, tell)
    await Promise.race([session.ended, this.#over.promise])
    quiet()
    if (this.flags.record === undefined && !this.#isOver && (await hasCalls(session))) this.#shown ??= session
    if (session === this.#shown) return
    const finished = await finish(session).catch((error: unknown) => {
      if (!(error instanceof JfluidError)) throw error
      return error
    })
    this.#running.delete(session)
    if (finished instanceof JfluidError) {
      this.#problems.push({ jvm, error: finished })
      tell(finished.message)
      return
    }
    const { profile, report } = finished
    this.#recorded.push({ jvm, session, profile })
    if (profile.events.count > 0) tell(`${plural(rootCalls(profile), 'root call')} recorded`)
    if (report !== null) tell(describeDetach(session, report))
  }

  /** Returns null if the JVM ends first, or cannot be recorded. @throws an error of the request in the first JVM */
  async #started(jvm: AskingJvm): Promise<Session | null> {
    let door: OpenDoor | undefined
    try {
      door = await jvm.open()
      return await Session.start(door, this.options)
    } catch (error) {
      if (!(error instanceof JfluidError)) throw error
      if (error instanceof LinkLost) {
        this.#ended ??= error
        const reason = 'the JVM ended before its recording began'
        this.tell(told(jvm, reason))
        this.#unrecorded.push({ jvm, reason, error: null })
        return null
      }
      const isFirst = this.#running.size === 0 && this.#recorded.length === 0
      if (isFirst && isOfRequest(error)) throw error
      if (door !== undefined) this.#problems.push({ jvm, error })
      this.#failed(jvm, error)
      return null
    }
  }

  /** Notes that a JVM, whose agent has written the reason, continues without being recorded. @param pid  undefined if unknown */
  cannotAsk(pid = 0, reason: string): void {
    const mainClass = mainClassOf(undefined, readCommand(pid).commandLine)
    this.#failed({ pid, mainClass }, startProblem(pid, reason))
  }

  /** Notes that a JVM continues without being recorded. */
  #failed(jvm: Named, error: JfluidError): void {
    this.#unrecorded.push({ jvm, reason: error.message, error })
    this.tell(told(jvm, `${error.message}; this JVM continues without being recorded`))
  }

  /**
   * Waits for the first session. Returns null if `exit` settles first.
   * @throws an error that affects all JVMs
   */
  async begun(exit: Promise<unknown>): Promise<Session | null> {
    const session = await Promise.race([this.#first.promise, this.#fatal.promise, settled(exit)])
    if (session !== null) return session
    await this.end()
    return this.#recorded[0]?.session ?? null
  }

  /**
   * Waits until a root was called, and then ends the sessions of all other JVMs. Returns null if `exit` settles first.
   * @throws an error that affects all JVMs
   */
  async firstCalled(exit: Promise<unknown>): Promise<Session | null> {
    const exited = settled(exit)
    let isExited = false
    void exited.then(() => {
      isExited = true
    })
    while (!isExited && this.#shown === null) {
      for (const session of this.#running.keys()) if (await hasCalls(session)) this.#shown ??= session
      const pause = sleep(FIRST_CALL_INTERVAL_MS, null, { ref: false })
      if (this.#shown === null) await Promise.race([exited, this.#fatal.promise, pause])
    }
    if (isExited) await this.#awaitEnds()
    await this.#leaveAll()
    return this.#shown
  }

  /** Ends all sessions, after the command has ended. */
  async end(): Promise<void> {
    await this.#awaitEnds()
    await this.#leaveAll()
  }

  /** Waits until JVMs that have ended with the command are seen to have ended, so that jfluid does not try to detach from these. */
  async #awaitEnds(): Promise<void> {
    const ends = Promise.all([...this.#running.keys()].map(({ ended }) => ended))
    await Promise.race([ends, sleep(END_TIMEOUT_MS, null, { ref: false })])
  }

  async #leaveAll(): Promise<void> {
    this.#isOver = true
    this.#over.resolve()
    await Promise.all(this.#attempts)
  }

  /** Returns the recording of all JVMs, which ends with the command. */
  source(exit: Promise<unknown>): ProgramSource {
    const ended = settled(exit)
      .then(() => this.end())
      .then(() => 'the command has ended')
    return {
      ended: Promise.race([ended, this.#fatal.promise]),
      saved: this,
      called: 'profile',
      everyMs: STATUS_INTERVAL_MS,
      status: async () => null,
      matches: () => [], // reported for each JVM
      tellMessages: () => () => {},
      finish: () => this.#finish(),
      outcome: async (_, kept) => this.problem(kept),
      problem: (kept) => this.problem(kept),
      drawn: () => Promise.reject(new Error('several JVMs have no view')),
    }
  }

  /** Returns the recording of the JVM that is shown. The sessions of the other JVMs have ended. */
  shownSource(session: Session): ProgramSource {
    const source = sessionSource(session, true)
    return { ...source, problem: (kept) => this.#badEnd(kept) ?? source.problem(kept) }
  }

  /** Returns the profile of the JVMs that have called a root so far. */
  async profileSoFar(why: string): Promise<Profile> {
    const running = await Promise.all([...this.#running.keys()].map((it) => it.profileSoFar(why)))
    const all = [...this.#recorded.map(({ profile }) => profile), ...running]
    return this.#sum(all)
  }

  /** Returns the profile, after `end`. If several JVMs have called a root, also writes the profile of each JVM. */
  async #finish(): Promise<SourceResult> {
    const profile = this.#withUnrecorded(this.#sum(this.#recorded.map((it) => it.profile)))
    const called = this.#recorded.filter(({ profile: { events } }) => events.count > 0)
    if (called.length < 2) return { profile, described: [] }
    const parts: string[] = []
    const jvms = called.map(({ jvm }) => jvm)
    const places = await ownPlaces(this.flags.record, jvms, { ...this.flags, autosave: 'off' }, this.tell)
    for (const it of called) {
      const place = places.get(it.jvm.pid)
      if (place === undefined) continue
      await place.keep(it.profile)
      parts.push(`${nameOf(it.jvm)} alone: profile in ${place.path}`)
    }
    const not = notSummed(this.flags)
    const what =
      not === null
        ? `${called.length} JVMs called a root; the profile is their sum`
        : `${called.length} JVMs called a root; the profile is that of JVM ${profile.target.pid}, which called the most methods: ${not.option} is for one JVM (${not.why})`
    return { profile, described: [], parts: [what, ...parts] }
  }

  /** Adds a warning about JVMs that are missing in the profile. */
  #withUnrecorded(profile: Profile): Profile {
    if (this.#unrecorded.length === 0) return profile
    return { ...profile, warnings: [...profile.warnings, unrecordedText(this.#unrecorded)] }
  }

  #sum(profiles: readonly Profile[]): Profile {
    if (profiles.length === 0) throw this.#problems[0]!.error
    const called = profiles.filter(({ events }) => events.count > 0)
    const some = called.length > 0 ? called : profiles
    const most = some.reduce((a, b) => (b.events.count > a.events.count ? b : a))
    return some.length === 1 || notSummed(this.flags) !== null ? most : together(some)
  }

  /** Error to report after `finish` if the command has succeeded. */
  problem(kept: Kept): JfluidError | null {
    return this.#badEnd(kept) ?? this.#missing()
  }

  /** Returns the error of a JVM that was not recorded to its end, or that may still have code of jfluid. JVMs may outlive the command. */
  #badEnd(kept: Kept): JfluidError | null {
    const ends = this.#recorded.flatMap(({ jvm, session }): Problem[] => {
      const error = badEnd(session, kept)
      return error === null ? [] : [{ jvm, error }]
    })
    // A JVM that may still have probes is the worst, and decides the exit code.
    const isWorst = ({ error }: Problem): number => Number(error instanceof NotRestored)
    const problems = [...ends, ...this.#problems].sort((a, b) => isWorst(b) - isWorst(a))
    const [first] = problems
    if (first === undefined) return null
    const all = this.#recorded.length + this.#running.size + this.#problems.length
    return all === 1 || first.error instanceof NotRestored ? first.error : new NotAllRecorded(problems, all)
  }

  /** Error if the recording lacks data that the user asked for. */
  #missing(): JfluidError | null {
    const all = this.#recorded
    const called = all.filter(({ profile }) => profile.events.count > 0)
    if (called.length === 0) {
      // A class of that name without such a method explains more than a list of JVMs.
      const known = all.find(({ session }) => session.rootReport().some(({ problem }) => problem !== null))
      const isOne = all.length === 1 && this.#unrecorded.length === 0
      if (isOne || known !== undefined) return missing((known ?? all[0]!).session)
      return new NoJvmRanRoot(all[0]!.session.rootNames, all.map(idleJvm), this.#unrecorded)
    }
    const problems = called.map(({ session }) => missing(session))
    if (problems.includes(null)) return null
    // A root that one JVM has not loaded may have been called in another JVM.
    const absent = called.map(({ session }) => new Set(armedRoots(session)))
    const isAbsent =
      absent[0]!.size === 0 || [...absent[0]!].some((root) => absent.every((it) => it.has(root)))
    return isAbsent ? problems[0]! : null
  }

  /** Error to report if the command has ended and there is nothing to show or to write. @param status  exit code of the command */
  nothing(command: string, status: number): JfluidError {
    const { jvm } = this.flags
    if (this.#recorded.length > 0) return this.problem(null) ?? new NoJvmStarted(command)
    const failed = [...this.#unrecorded, ...this.#problems].find(({ error }) => error !== null)?.error
    if (failed != null) return failed
    if (this.#ended !== null) return new EndedBeforeRecording(command, status, this.#ended)
    return jvm !== undefined && this.#others.length > 0
      ? new NoJvmOfThatName(jvm, this.#others)
      : new NoJvmStarted(command)
  }
}

/** Returns whether the cause of an error is the command line, so that no JVM of the command can be recorded. */
function isOfRequest(error: JfluidError): boolean {
  return error instanceof UsageError || error instanceof NeedsConsent || error instanceof BadProfiler
}

async function hasCalls(session: Session): Promise<boolean> {
  const status = await session.status().catch(() => null)
  return status !== null && (status.phase === 'recording' || status.events > 0)
}

/** Resolves with null when the promise has settled. */
function settled(promise: Promise<unknown>): Promise<null> {
  return promise.then(
    () => null,
    () => null,
  )
}

function armedRoots(session: Session): string[] {
  return session.rootReport().flatMap(({ armed, text }) => (armed ? [text] : []))
}

function idleJvm({ jvm, session }: Recorded): IdleJvm {
  const roots = session.rootReport()
  return {
    pid: jvm.pid,
    mainClass: jvm.mainClass,
    near: roots.flatMap(({ near }) => near),
    hasRoot: roots.some(({ armed }) => !armed),
  }
}
