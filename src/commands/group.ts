// Sessions with several JVMs at once. What happens to one of them does not end the others: it is told, and is the exit status in the end.

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
import type { StopSignal } from './signals.ts'
import { startUnless } from './start.ts'

/** As many are attached to at a time: a JVM does some work for it, and so do we. */
const AT_A_TIME = 4

export class NotAllRecorded extends JfluidError {
  static sample = () =>
    new NotAllRecorded([{ jvm: { pid: 4711, mainClass: 'OrderServer' }, error: new JvmEnded(4711, null) }], 3)
  readonly exitCode: number
  readonly hint: string
  constructor(problems: readonly { jvm: Named; error: JfluidError }[], all: number) {
    const [{ jvm, error }] = problems as readonly [Problem]
    const others = problems.length > 1 ? `, and ${problems.length - 1} more` : ''
    super(`${problems.length} of ${all} JVMs not recorded as asked: ${told(jvm, error.message)}${others}`)
    this.exitCode = error.exitCode
    this.hint = error.hint
  }
}

type Named = Pick<Jvm, 'pid' | 'mainClass'>

interface Problem {
  readonly jvm: Jvm
  readonly error: JfluidError
}

export interface Member {
  readonly jvm: Jvm
  readonly session: Session
  readonly place: ProfilePlace | null
}

/**
 * Where the profile of each JVM goes, by its process id: beside that of all.
 *
 * @param out  of that; nothing is kept without one
 * @throws BadDuration, CannotWriteProfile: now, and not after a recording
 */
export async function ownPlaces(
  out: string | undefined,
  jvms: readonly Jvm[],
  flags: PlaceFlags,
  tell: (line: string) => void,
): Promise<ReadonlyMap<number, ProfilePlace>> {
  const own = new Map<number, ProfilePlace>()
  // Beside a device or a pipe there is no place.
  if (out === undefined || statSync(out, { throwIfNoEntry: false })?.isFile() === false) return own
  for (const { pid } of jvms) own.set(pid, await ProfilePlace.at(ownPath(out, pid), flags, tell))
  return own
}

/** "p.jfluid" of all is "p.4711.jfluid" of one. */
export function ownPath(out: string, pid: number): string {
  const ending = extname(out)
  return `${out.slice(0, out.length - ending.length)}.${pid}${ending}`
}

export class Group {
  readonly #kept: { readonly jvm: Jvm; readonly path: string }[] = []
  /** Those that had ended when all was set to zero. */
  readonly #leftOut = new Set<Member>()

  private constructor(
    readonly members: readonly Member[],
    readonly problems: Problem[],
    readonly tell: (line: string) => void,
  ) {}

  /**
   * Attaches to all that let us in, and has them begin to count at the same time.
   *
   * @param stop  ends the attaching
   * @param tell  what there is to say of single JVMs, now and later
   * @returns null if `stop` has come first: all have been left then
   * @throws what is in the way of the only one, NotAllRecorded if something is in that of each
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
          const session = await startUnless(
            stop.fired,
            await attachDoor(jvm.pid, asksFirst(options)),
            options,
            () => {},
          )
          if (session !== null) members.push({ jvm, session, place: places.get(jvm.pid) ?? null })
        } catch (error) {
          if (!(error instanceof JfluidError)) throw error
          problems.push({ jvm, error })
          tell(told(jvm, error.message))
        }
      }
    }
    const settled = await Promise.allSettled(Array.from({ length: AT_A_TIME }, attach))
    members.sort(byPid)
    problems.sort(byPid) // whichever came first in time: the first of them is told
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

  /** Those that were ready first have counted longer. */
  #begin(): void {
    for (const { jvm, session, place } of this.members) {
      session.reset()
      place?.guard(session)
      for (const line of describeMatches(session)) this.tell(told(jvm, line))
    }
  }

  /** Tells what sessions have to say, and when one is over before the others. Stop it with the result. */
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

  /** What is in the way of those that are not among the members. */
  get refusals(): string[] {
    return this.problems.map(({ jvm, error }) => told(jvm, error.message))
  }

  /** After `finish`: where the profile of each JVM is. */
  get keptLines(): string[] {
    return this.#kept.map(({ jvm, path }) => `${nameOf(jvm)} by itself is in ${path}`)
  }

  /** Settles when no session is left. */
  get ended(): Promise<string> {
    return Promise.all(this.members.map(({ session }) => session.ended)).then((reasons) =>
      reasons.length === 1 ? reasons[0]! : 'all of the JVMs, or their sessions, have ended',
    )
  }

  /** All counts of a member begin at zero; one that has ended has no part any more in what comes. Its own profile stays. */
  reset(member: Member): void {
    if (member.session.ending !== null) this.#leftOut.add(member)
    member.session.reset()
  }

  readonly #isIn = (member: Member): boolean =>
    this.#leftOut.size === this.members.length || !this.#leftOut.has(member)

  /** What has been recorded so far; recording goes on. */
  async profileSoFar(why: string): Promise<Profile> {
    const members = this.members.filter(this.#isIn)
    return together(await Promise.all(members.map(({ session }) => session.profileSoFar(why))))
  }

  /**
   * Leaves all JVMs, and keeps the profile of each where it has a place.
   *
   * @returns all profiles as one
   * @throws what was in the way of the only one
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

  /** Null if there is none to be had. */
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
   * The one thing to tell of it all.
   *
   * @param signal  what ended the recording, null if no signal did
   * @param kept    where all profiles are as one
   */
  outcome(signal: NodeJS.Signals | null, kept: Kept): JfluidError | null {
    if (signal !== null && signal !== 'SIGINT') return new EndedBySignal(signal, kept)
    const all = new Set([...this.members, ...this.problems].map(({ jvm }) => jvm.pid))
    return this.problems.length === 0 ? null : new NotAllRecorded(this.problems, all.size)
  }
}

const byPid = (a: { readonly jvm: Jvm }, b: { readonly jvm: Jvm }): number => a.jvm.pid - b.jvm.pid

/** "JVM 4711 (shop.Orders)". */
export function nameOf({ pid, mainClass }: Named): string {
  return `JVM ${pid} (${mainClass ?? '?'})`
}

/** With the JVM, unless the text says which it is. */
function told(jvm: Named, text: string): string {
  return new RegExp(`\\bJVM ${jvm.pid}\\b`).test(text) ? text : `${nameOf(jvm)}: ${text}`
}
