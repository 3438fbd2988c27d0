// Where `record` puts a profile: into a file, into a store, or both. It is in a file before it is on its way to a store, and only
// one that no file was named for goes from there once the store has it.

import { rm, rmdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { JfluidError, UsageError } from '../base/errors.ts'
import { shellWord } from '../base/shell-word.ts'
import type { Flags } from '../options/table.ts'
import { CannotWriteProfile, errorCode } from '../profile/errors.ts'
import type { Profile } from '../profile/profile.ts'
import { PushHostUnknown } from '../push/errors.ts'
import type { Push, push } from '../push/push.ts'
import { parseStore } from '../push/store.ts'
import { nameNow } from './file-name.ts'
import { type PlaceFlags, ProfileOnlyAutosaved, ProfilePlace, ProfilePutElsewhere } from './place.ts'
import { pushTo, tellOfStore } from './push-options.ts'
import type { StopSignal } from './signals.ts'

/** What is recorded would be lost. */
export class NowhereToPut extends UsageError {
  static sample = () => new NowhereToPut()
  readonly hint = 'Add --out <file>, or --push <url> for a store of profiles; both is fine, too.'
  constructor() {
    super('neither --out nor --push says where the profile is to go')
  }
}

/** The store did not get it; it is not lost. */
export class ProfileNotPushed extends JfluidError {
  static sample = () =>
    new ProfileNotPushed(PushHostUnknown.sample(), '/tmp/app.jfluid', {
      store: parseStore('http://pyroscope:4040'),
      labels: new Map(),
    })
  readonly exitCode: number
  readonly hint: string
  constructor(problem: JfluidError, path: string, to: Pick<Push, 'store' | 'labels'>) {
    super(`${problem.message}; the profile is in ${path}`)
    this.exitCode = problem.exitCode
    // A query may be a secret.
    const then =
      to.store.url.search === '' ? 'Then' : 'Then, with the query of the address, which is left out here'
    this.hint = `${problem.hint} ${then}: ${commandOf(path, to)}`
  }
}

/** What pushes the file as it was to be pushed: a file does not know its labels. */
function commandOf(path: string, { store, labels }: Pick<Push, 'store' | 'labels'>): string {
  const words = ['jfluid', 'push', path, '--to', store.shown]
  for (const [name, value] of labels) words.push('--label', `${name}=${value}`)
  return words.map(shellWord).join(' ')
}

/** What has become of a profile. */
export interface Put {
  /** The file that it is in; null if in none. */
  readonly path: string | null
  /** The store that has it; null if none has. */
  readonly store: string | null
  /** What went wrong, to be thrown once all else has been said; null if nothing. */
  readonly problem: JfluidError | null
  /** What to tell if nothing did. */
  readonly lines: readonly string[]
}

export type DestinationFlags = PlaceFlags & Pick<Flags<'record'>, 'out' | 'push' | 'label'>

export class Destination {
  private constructor(
    /** It is in a file before it is in a store. */
    readonly place: ProfilePlace,
    /** Whether somebody has asked for the file. */
    readonly isFileAsked: boolean,
    /** Read before anything is recorded: what is on the disk may be another version at the end. */
    readonly store: { readonly to: Push; readonly send: typeof push } | null,
    readonly tell: (line: string) => void,
  ) {}

  /**
   * What can be known to be wrong without the target, and before it is asked which that is.
   *
   * @throws NowhereToPut, BadPushUrl, BadLabel, BadPushCredentials
   */
  static check({ out, push, label }: DestinationFlags): Push | null {
    if (out === undefined && push === undefined) throw new NowhereToPut()
    return push === undefined ? null : pushTo(push, label)
  }

  /**
   * @param to    what `check` returned
   * @param tell  what there is to say, now and later
   * @throws BadDuration, CannotWriteProfile
   */
  static async of(
    flags: DestinationFlags,
    to: Push | null,
    pid: number,
    tell: (line: string) => void,
  ): Promise<Destination> {
    if (to !== null) tellOfStore(to, tell)
    const store = to === null ? null : { to, send: (await import('../push/push.ts')).push }
    return new Destination(await placeOf(flags, pid, tell), flags.out !== undefined, store, tell)
  }

  /**
   * Keeps the profile, and pushes it. A store gets it, too, where no file could be written. What comes before a problem is told at once,
   * for a problem is all that is told afterwards.
   *
   * @param phase  told what goes on
   * @param stop   the next signal ends the push, and not us
   * @param called  what it is
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
      const nothing = 'nothing was recorded, and so nothing is pushed'
      if (problem !== null) this.tell(nothing)
      return { ...onlyKept, lines: [nothing, ...kept] }
    }
    const { to, send } = this.store
    const store = to.store.shown
    phase(`pushing to ${store}`)
    const ended = new AbortController()
    stop.instead(() => ended.abort())
    let pushed: string
    try {
      pushed = `pushed to ${store} as ${await send(profile, to, this.tell, ended.signal)}`
    } catch (error) {
      if (!(error instanceof JfluidError)) throw error
      // That it is not where it should be comes first, and says where it is as well.
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

  /** @returns where it is, null if nowhere, and why it is not where it should be */
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

/** @returns what to tell if it cannot be removed: the store has it, so nothing is wrong with that */
async function removed(path: string | null, problem: JfluidError | null): Promise<string[] | null> {
  if (path === null) return null
  try {
    await rm(path, { force: true })
    if (problem instanceof ProfilePutElsewhere) await rmdir(dirname(problem.path))
    return null
  } catch (error) {
    return [`the profile is in ${path} as well, which cannot be removed: ${errorCode(error)}`]
  }
}

/** For `outcome`. */
export function keptIn({ path, store }: Put): string | { readonly store: string } | null {
  return path ?? (store === null ? null : { store })
}

function written(called: string, path: string): string {
  return `${called} written to ${path}; read it with: jfluid report ${shellWord(path)}`
}

/** Without --out, a file of this directory, or of one for what is temporary. */
async function placeOf(
  flags: DestinationFlags,
  pid: number,
  tell: (line: string) => void,
): Promise<ProfilePlace> {
  if (flags.out !== undefined) return await ProfilePlace.at(flags.out, flags, tell)
  const name = nameNow(pid, '.jfluid')
  try {
    return await ProfilePlace.at(name, flags, tell)
  } catch (error) {
    if (!(error instanceof CannotWriteProfile)) throw error
    return await ProfilePlace.at(join(tmpdir(), name), flags, tell)
  }
}
