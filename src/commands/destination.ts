// Destination of the profile of `record`: a file, a store, or both. The profile is always written to a file first. If the user named no
// file, this file is removed after the store has received the profile.

import { rm, rmdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { JfluidError, UsageError } from '../base/errors.ts'
import { shellWord } from '../base/shell-word.ts'
import type { Flags } from '../options/table.ts'
import { CannotWriteProfile, errorCode } from '../profile/errors.ts'
import type { Profile } from '../profile/profile.ts'
import { PushHostUnknown, PushUnavailable } from '../push/errors.ts'
import type { Labels } from '../push/identity.ts'
import type { Push, push } from '../push/push.ts'
import { parseStore } from '../push/store.ts'
import { nameNow, unusedPath } from './file-name.ts'
import { type PlaceFlags, ProfileOnlyAutosaved, ProfilePlace, ProfilePutElsewhere } from './place.ts'
import { pushTo, warnAboutStore, warnAboutValues } from './push-options.ts'
import type { StopSignal } from './signals.ts'

/** Neither --out nor --push is given, so the recorded data would be lost. */
export class NowhereToPut extends UsageError {
  static sample = () => new NowhereToPut()
  readonly hint = 'Add --out <file>, or --push <url> for a profile server, or both.'
  constructor() {
    super('no destination is given for the profile: neither --out nor --push')
  }
}

/** Returns whether the store certainly has not accepted the profile, and may accept it later. */
export function mayPushAgain(reason: JfluidError): boolean {
  return reason instanceof PushHostUnknown || (reason instanceof PushUnavailable && reason.retry)
}

/** The store did not receive the profile. The profile is kept in a file. */
export class ProfileNotPushed extends JfluidError {
  static sample = () =>
    new ProfileNotPushed(PushHostUnknown.sample(), '/tmp/app.jfluid', {
      store: parseStore('http://pyroscope:4040'),
      labels: new Map(),
    })
  readonly exitCode: number
  readonly hint: string
  /** Whether the store certainly has not accepted the profile, and may accept it later. */
  readonly mayRepeat: boolean
  constructor(
    readonly reason: JfluidError,
    readonly path: string,
    readonly to: Pick<Push, 'store' | 'labels' | 'redact'>,
  ) {
    super(`${reason.message}; the profile is in ${path}`)
    const problem = reason
    this.mayRepeat = mayPushAgain(reason)
    this.exitCode = problem.exitCode
    // A query may contain a secret.
    const then = to.store.url.search === '' ? 'Then' : 'Then, with the query part of the URL added'
    this.hint = `${problem.hint} ${then}: ${commandOf(path, to)}`
  }
}

/** Returns the command that repeats the push. The command includes the labels, since the file does not contain labels. */
function commandOf(path: string, { store, labels, redact }: ProfileNotPushed['to']): string {
  const words = ['jfluid', 'push', path, '--to', store.shown]
  for (const [name, value] of labels) words.push('--label', `${name}=${value}`)
  if (redact !== undefined) words.push('--redact')
  return words.map(shellWord).join(' ')
}

/** Result of putting a profile somewhere. */
export interface Put {
  /** Path of the profile; null if no file contains the profile. */
  readonly path: string | null
  /** The store that received the profile; null if there is none. */
  readonly store: string | null
  /** Error to throw after all messages have been printed; null if there is none. */
  readonly problem: JfluidError | null
  /** Messages to print if there is no error. */
  readonly lines: readonly string[]
}

export type DestinationFlags = PlaceFlags & Pick<Flags<'record'>, 'out' | 'push' | 'label' | 'redact'>

export class Destination {
  private constructor(
    /** The profile is written to this file before it is pushed. */
    readonly place: ProfilePlace,
    /** Whether the user named the file. */
    readonly isFileAsked: boolean,
    /** The push module is loaded before the recording: at the end, another version may be installed on disk. */
    readonly store: { readonly to: Push; readonly send: typeof push } | null,
    readonly tell: (line: string) => void,
    /** Returns labels that depend on the profile. Labels of the user have priority. */
    readonly labelsOf: (profile: Profile) => Labels,
  ) {}

  /**
   * Checks the options. The check needs no target, so it is called before the target is determined.
   *
   * @throws NowhereToPut, BadPushUrl, BadLabel, BadPushCredentials
   */
  static check({ out, push, label, redact }: DestinationFlags): Push | null {
    if (out === undefined && push === undefined) throw new NowhereToPut()
    return push === undefined ? null : pushTo(push, label, redact)
  }

  /**
   * Creates the destination.
   *
   * @param to    result of `check`
   * @param tell  receives messages for the user, during this call and the recording
   * @param labelsOf  returns further labels of a profile
   * @throws CannotWriteProfile
   */
  static async of(
    flags: DestinationFlags,
    to: Push | null,
    pid: number,
    tell: (line: string) => void,
    labelsOf: (profile: Profile) => Labels = () => new Map(),
  ): Promise<Destination> {
    if (to !== null) warnAboutStore(to, tell)
    const store = to === null ? null : { to, send: (await import('../push/push.ts')).push }
    return new Destination(await placeOf(flags, pid, tell), flags.out !== undefined, store, tell, labelsOf)
  }

  /**
   * Writes the profile to its file and pushes it. The push is tried even if no file could be written. Other messages are printed before an
   * error is thrown, since nothing can be printed after that error.
   *
   * @param phase   receives the name of each phase
   * @param stop    the next signal ends the push, and not the process
   * @param called  name of the profile in messages
   * @throws ProfilePutElsewhere, ProfileOnlyAutosaved, CannotWriteProfile, ProfileNotPushed
   */
  async put(
    profile: Profile,
    phase: (text: string) => void,
    stop: StopSignal,
    called = 'profile',
  ): Promise<Put> {
    const { path, problem } = await this.#keep(profile)
    const kept = path === null ? [] : [written(called, path)]
    const onlyKept: Put = { path, store: null, problem, lines: kept }
    if (this.store === null) return onlyKept
    if (profile.events.count === 0) {
      const nothing = 'nothing was recorded, so nothing is pushed'
      if (problem !== null) this.tell(nothing)
      return { ...onlyKept, lines: [nothing, ...kept] }
    }
    const { send } = this.store
    const to = { ...this.store.to, labels: new Map([...this.labelsOf(profile), ...this.store.to.labels]) }
    const store = to.store.shown
    warnAboutValues(profile, to, this.tell)
    phase(`pushing to ${store}`)
    const ended = new AbortController()
    stop.instead(() => ended.abort())
    let pushed: string
    try {
      pushed = `pushed to ${store} as ${await send(profile, to, this.tell, ended.signal)}`
    } catch (error) {
      if (!(error instanceof JfluidError)) throw error
      // The error of the file has priority, since it also contains the actual path.
      if (problem !== null) this.tell(error.message)
      if (path === null) throw problem ?? error
      return { ...onlyKept, problem: problem ?? new ProfileNotPushed(error, path, to), lines: [] }
    } finally {
      stop.instead(null)
    }
    if (this.isFileAsked) {
      if (problem === null) return { path, store, problem, lines: [pushed, ...kept] }
      this.tell(pushed)
      return { path, store, problem, lines: [] }
    }
    const left = await removed(path, problem)
    return { path: left === null ? null : path, store, problem: null, lines: [pushed, ...(left ?? [])] }
  }

  /** @returns the path of the profile, null if there is none; and the reason if it is not the requested path */
  async #keep(profile: Profile): Promise<Pick<Put, 'path' | 'problem'>> {
    try {
      await this.place.keep(profile)
      return { path: this.place.path, problem: null }
    } catch (problem) {
      if (problem instanceof ProfilePutElsewhere) return { path: problem.path, problem }
      if (problem instanceof ProfileOnlyAutosaved || problem instanceof CannotWriteProfile)
        return { path: null, problem }
      throw problem
    }
  }
}

/** @returns a message if the file cannot be removed. A failed removal is no error, since the store has the profile */
async function removed(path: string | null, problem: JfluidError | null): Promise<string[] | null> {
  if (path === null) return null
  try {
    await rm(path, { force: true })
    if (problem instanceof ProfilePutElsewhere) await rmdir(dirname(problem.path))
    return null
  } catch (error) {
    return [`the profile is also in ${path}, which cannot be removed: ${errorCode(error)}`]
  }
}

/** Location of the profile, in the form that `outcome` needs. */
export function keptIn({ path, store }: Put): string | { readonly store: string } | null {
  return path ?? (store === null ? null : { store })
}

function written(called: string, path: string): string {
  return `${called} written to ${path}; read it with: jfluid report ${shellWord(path)}`
}

/** Without --out, uses a new file in the current directory, or in a temporary directory. */
async function placeOf(
  flags: DestinationFlags,
  pid: number,
  tell: (line: string) => void,
): Promise<ProfilePlace> {
  if (flags.out !== undefined) return await ProfilePlace.at(flags.out, flags, tell)
  const name = nameNow(pid, '.jfluid')
  try {
    return await ProfilePlace.at(unusedPath(name), flags, tell)
  } catch (error) {
    if (!(error instanceof CannotWriteProfile)) throw error
    return await ProfilePlace.at(unusedPath(join(tmpdir(), name)), flags, tell)
  }
}
