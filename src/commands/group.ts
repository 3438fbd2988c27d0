// Sessions with several JVMs at once. A failure of one session does not end the other sessions. The failure is reported and determines the
// exit status.

import { statSync } from 'node:fs'
import { extname } from 'node:path'
import type { Jvm } from '../attach/jvms.ts'
import { append } from '../base/arrays.ts'
import { JfluidError } from '../base/errors.ts'
import type { Profile } from '../profile/profile.ts'
import { together } from '../profile/together.ts'
import { attachDoor } from '../session/doors/door.ts'
import type { Session } from '../session/session.ts'
import { asksFirst, type SessionRequest } from '../session/session-options.ts'
import { describeDetach, finish, tellMessages } from './finish.ts'
import { describeMatches } from './matches.ts'
import { EndedBySignal, JvmEnded, type Kept, outcome } from './outcome.ts'
import { type PlaceFlags, ProfilePlace } from './place.ts'
import { type StopSignal, unlessStopped } from './signals.ts'
import { startUnless } from './start.ts'

/** Maximum number of concurrent attaches. Each attach costs work in the JVM and in this process. */
const MAX_CONCURRENT_ATTACHES = 4

export class NotAllRecorded extends JfluidError {
  static sample = () =>
    new NotAllRecorded([{ jvm: { pid: 4711, mainClass: 'OrderServer' }, error: new JvmEnded(4711, null) }], 3)
  readonly exitCode: number
  readonly hint: string
  constructor(problems: readonly Problem[], all: number) {
    const [{ jvm, error }] = problems as readonly [Problem]
    const others = problems.length > 1 ? `, and ${problems.length - 1} more` : ''
    super(
      `${problems.length} of ${all} JVMs were not recorded completely: ${told(jvm, error.message)}${others}`,
    )
    this.exitCode = error.exitCode
    this.hint = error.hint
  }
}

export type Named = Pick<Jvm, 'pid' | 'mainClass'>

export interface Problem {
  readonly jvm: Named
  readonly error: JfluidError
}

export interface Member {
  readonly jvm: Jvm
  readonly session: Session
  readonly place: ProfilePlace | null
}

/**
 * Returns the file of each JVM's own profile, keyed by process id. The files are beside the file of the merged profile.
 *
 * @param out  file of the merged profile; if undefined, no own profiles are kept
 * @throws CannotWriteProfile before the recording begins
 */
export async function ownPlaces(
  out: string | undefined,
  jvms: readonly Pick<Jvm, 'pid'>[],
  flags: PlaceFlags,
  tell: (line: string) => void,
): Promise<ReadonlyMap<number, ProfilePlace>> {
  const own = new Map<number, ProfilePlace>()
  // No files can be created beside a device or a pipe.
  if (out === undefined || statSync(out, { throwIfNoEntry: false })?.isFile() === false) return own
  for (const { pid } of jvms) own.set(pid, await ProfilePlace.at(ownPath(out, pid), flags, tell))
  return own
}

/** Returns the file of one JVM: "p.4711.jfluid" if the file of the merged profile is "p.jfluid". */
export function ownPath(out: string, pid: number): string {
  const ending = extname(out)
  return `${out.slice(0, out.length - ending.length)}.${pid}${ending}`
}

export class Group {
  readonly #kept: { readonly jvm: Jvm; readonly path: string }[] = []
  /** Members that had ended when the counts were reset. */
  readonly #leftOut = new Set<Member>()

  private constructor(
    readonly members: readonly Member[],
    readonly problems: Problem[],
    readonly tell: (line: string) => void,
  ) {}

  /**
   * Attaches to all JVMs that accept an attach, and starts their counts at the same time.
   *
   * @param stop  cancels all attaches
   * @param tell  receives messages about single JVMs, during the attach and the recording
   * @returns null if `stop` fired first: jfluid has then detached from all JVMs
   * @throws the JVM's error if there is only one JVM; NotAllRecorded if every JVM failed
   */
  static async start(
    jvms: readonly Jvm[],
    options: SessionRequest,
    places: ReadonlyMap<number, ProfilePlace>,
    stop: StopSignal,
    tell: (line: string) => void,
  ): Promise<Group | null> {
    const members: Member[] = []
    const problems: Problem[] = []
    const next = jvms.values()
    const attach = async (): Promise<void> => {
      for (const jvm of next) {
        if (stop.signal !== null) return
        try {
          const onPhase = (phase: string): void => tell(told(jvm, phase))
          const door = await unlessStopped(stop, (signal) =>
            attachDoor(jvm.pid, { asks: asksFirst(options), onPhase, signal }),
          )
          if (door === null) return
          const session = await startUnless(stop.fired, door, options, () => {})
          if (session !== null) members.push({ jvm, session, place: places.get(jvm.pid) ?? null })
        } catch (error) {
          if (!(error instanceof JfluidError)) throw error
          problems.push({ jvm, error })
          tell(told(jvm, error.message))
        }
      }
    }
    const settled = await Promise.allSettled(Array.from({ length: MAX_CONCURRENT_ATTACHES }, attach))
    members.sort(byPid)
    problems.sort(byPid) // the order is by process id and not by time, since the first problem determines the reported error
    const failed = settled.find((it) => it.status === 'rejected')
    if (failed !== undefined || stop.signal !== null) {
      await Promise.all(members.map(({ session }) => finish(session)))
      if (failed !== undefined) throw failed.reason
      return null
    }
    if (members.length === 0)
      throw jvms.length === 1 ? problems[0]!.error : new NotAllRecorded(problems, jvms.length)
    const group = new Group(members, problems, tell)
    try {
      group.#begin()
    } catch (error) {
      await Promise.all(members.map(({ session }) => finish(session)))
      throw error
    }
    return group
  }

  /** Resets all counts, so that the counts of all members cover the same time. */
  #begin(): void {
    for (const { jvm, session, place } of this.members) {
      session.reset()
      place?.guard(session)
      for (const line of describeMatches(session)) this.tell(told(jvm, line))
    }
  }

  /** Reports messages of the sessions, and sessions that end early. Returns a function that stops the reports. */
  tellMessages(): () => void {
    let isOver = false
    const quiet = this.members.map(({ jvm, session }) => {
      void session.ended.then((reason) => {
        if (!isOver) this.tell(told(jvm, reason))
      })
      return tellMessages(session, (line) => this.tell(told(jvm, line)))
    })
    return () => {
      isOver = true
      for (const each of quiet) each()
    }
  }

  /** Reasons why JVMs could not be attached to. */
  get refusals(): string[] {
    return this.problems.map(({ jvm, error }) => told(jvm, error.message))
  }

  /** Lines with the path of each JVM's profile. Complete after `finish`. */
  get keptLines(): string[] {
    return this.#kept.map(({ jvm, path }) => `${nameOf(jvm)} alone: profile in ${path}`)
  }

  /** Resolves when all sessions have ended. */
  get ended(): Promise<string> {
    return Promise.all(this.members.map(({ session }) => session.ended)).then((reasons) =>
      reasons.length === 1 ? reasons[0]! : 'all of the JVMs, or their sessions, have ended',
    )
  }

  /** Resets a member to zero. A member that has ended is excluded from the later merged profile. Its own profile is kept. */
  reset(member: Member): void {
    if (member.session.ending !== null) this.#leftOut.add(member)
    member.session.reset()
  }

  readonly #isIn = (member: Member): boolean =>
    this.#leftOut.size === this.members.length || !this.#leftOut.has(member)

  /** Returns the merged profile of the data recorded so far. The recording continues. */
  async profileSoFar(why: string): Promise<Profile> {
    const members = this.members.filter(this.#isIn)
    return together(await Promise.all(members.map(({ session }) => session.profileSoFar(why))))
  }

  /**
   * Detaches from all JVMs, and writes the profile of each JVM that has a file.
   *
   * @returns the merged profile
   * @throws the error of the first JVM if no JVM has a profile
   */
  async finish(): Promise<Profile> {
    const refusals = this.problems.length
    const settled = await Promise.allSettled(this.members.map((it) => this.#finished(it)))
    const failed = settled.find((it) => it.status === 'rejected')
    if (failed !== undefined) throw failed.reason
    append(this.problems, this.problems.splice(refusals).sort(byPid))
    const profiles = settled.flatMap((it, i) =>
      it.status === 'fulfilled' && it.value !== null && this.#isIn(this.members[i]!) ? [it.value] : [],
    )
    if (profiles.length === 0) throw this.problems[0]!.error
    return together(profiles)
  }

  /** Detaches from one JVM and writes its profile. Returns null if there is no profile. */
  async #finished({ jvm, session, place }: Member): Promise<Profile | null> {
    let profile: Profile | null = null
    try {
      await place?.release()
      const finishing = finish(session)
      const finished = await (place === null ? finishing : place.orAutosaved(finishing))
      profile = finished.profile
      this.tell(describeDetach(session, finished.report))
      if (place !== null) {
        await place.keep(profile)
        this.#kept.push({ jvm, path: place.path })
      }
      const problem = outcome(session, null, place?.path ?? null)
      if (problem !== null) this.problems.push({ jvm, error: problem })
    } catch (error) {
      if (!(error instanceof JfluidError)) throw error
      this.problems.push({ jvm, error })
      this.tell(told(jvm, error.message))
    }
    return profile
  }

  /**
   * Returns the error to report for the whole group.
   *
   * @param signal  signal that ended the recording, null if no signal did
   * @param kept    location of the merged profile
   */
  outcome(signal: NodeJS.Signals | null, kept: Kept): JfluidError | null {
    if (signal !== null && signal !== 'SIGINT') return new EndedBySignal(signal, kept)
    const all = new Set([...this.members, ...this.problems].map(({ jvm }) => jvm.pid))
    return this.problems.length === 0 ? null : new NotAllRecorded(this.problems, all.size)
  }
}

const byPid = (a: { readonly jvm: Named }, b: { readonly jvm: Named }): number => a.jvm.pid - b.jvm.pid

/** Returns a name such as "JVM 4711 (shop.Orders)". */
export function nameOf({ pid, mainClass }: Named): string {
  return `JVM ${pid} (${mainClass ?? '?'})`
}

/** Prefixes the text with the JVM's name, unless the text contains it. */
export function told(jvm: Named, text: string): string {
  return new RegExp(`\\bJVM ${jvm.pid}\\b`).test(text) ? text : `${nameOf(jvm)}: ${text}`
}
