// Where a recording's profile is put: looked at before the target is touched, guarded against our own crash while it is recorded,
// and somewhere else in the end if it must be. What was recorded may not come again.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { parseDuration } from '../base/duration.ts'
import { EX_CANTCREAT, JfluidError } from '../base/errors.ts'
import { homeDirectory } from '../base/home.ts'
import { shellWord } from '../base/shell-word.ts'
import type { Flags } from '../options/table.ts'
import { autosavedBeside } from '../profile/autosaved.ts'
import { CannotWriteProfile, errorCode } from '../profile/errors.ts'
import { writeProfile } from '../profile/file.ts'
import type { Profile } from '../profile/profile.ts'
import { probeFile } from '../profile/replace-file.ts'
import { reproducible } from '../profile/reproducible.ts'
import { Autosave, type Saved } from './autosave.ts'

/** The profile could not be put where it should be, and is somewhere else. */
export class ProfilePutElsewhere extends JfluidError {
  static sample = () =>
    new ProfilePutElsewhere(new CannotWriteProfile('/srv/app.jfluid', 'ENOSPC'), '/tmp/app.jfluid')
  readonly exitCode = EX_CANTCREAT
  readonly hint: string
  /** Where it is. */
  readonly path: string
  constructor(problem: CannotWriteProfile, elsewhere: string) {
    super(`${problem.message}; the profile is in ${elsewhere}`)
    this.path = elsewhere
    this.hint = `Read it with: jfluid report ${shellWord(elsewhere)}`
  }
}

/** It could not be made, or be put anywhere, and what was saved before is all there is. */
export class ProfileOnlyAutosaved extends JfluidError {
  static sample = () =>
    new ProfileOnlyAutosaved(new CannotWriteProfile('/srv/app.jfluid', 'ENOSPC'), '/srv/app.jfluid.autosave')
  readonly exitCode: number
  readonly hint: string
  constructor(problem: JfluidError, autosaved: string) {
    super(`${problem.message}; what had been autosaved some seconds before the end is in ${autosaved}`)
    this.exitCode = problem.exitCode
    this.hint = `Read it with: jfluid report ${shellWord(autosaved)}`
  }
}

const DEFAULT_MS = 5000

/** What `--autosave` takes: how long from one to the next, or `off`. */
function intervalOf(text: string | undefined): number | null {
  if (text === 'off') return null
  return text === undefined ? DEFAULT_MS : parseDuration(text)
}

export type PlaceFlags = Pick<Flags<'record'>, 'autosave' | 'reproducible'>

export class ProfilePlace {
  #autosave: Autosave | undefined

  private constructor(
    readonly path: string,
    /** From one autosave to the next; null for none. */
    readonly everyMs: number | null,
    readonly isReproducible: boolean,
    readonly tell: (line: string) => void,
  ) {}

  /**
   * @param tell  what there is to say of files beside it, now and later
   * @throws BadDuration, CannotWriteProfile: now, and not after a recording
   */
  static async at(path: string, flags: PlaceFlags, tell: (line: string) => void): Promise<ProfilePlace> {
    const everyMs = intervalOf(flags.autosave)
    let isSpecial: boolean
    try {
      isSpecial = await probeFile(path)
    } catch (error) {
      throw new CannotWriteProfile(path, errorCode(error))
    }
    const left = autosavedBeside(path)
    if (left !== undefined) {
      tell(
        `${left} holds a recording that goes on, or did not end as it should; it stays: jfluid report ${shellWord(left)}`,
      )
    }
    return new ProfilePlace(path, isSpecial ? null : everyMs, flags.reproducible === true, tell)
  }

  /** From now on, what is recorded is saved now and then. */
  guard(session: Saved): void {
    if (this.everyMs !== null) this.#autosave = new Autosave(session, this.path, this.everyMs, this.tell)
  }

  /** The recording is about to end: nothing is saved any more. */
  async release(): Promise<void> {
    await this.#autosave?.stop()
  }

  /**
   * What makes the profile, after `release`.
   *
   * @throws ProfileOnlyAutosaved where there is none to be had any more, but something was saved before
   */
  async orAutosaved<T>(making: Promise<T>): Promise<T> {
    try {
      return await making
    } catch (error) {
      const autosaved = this.#autosave?.path
      throw autosaved !== undefined && error instanceof JfluidError
        ? new ProfileOnlyAutosaved(error, autosaved)
        : error
    }
  }

  /**
   * Writes the profile, to another directory if it cannot be put where it should be. Nothing of what was autosaved
   * is left then, unless the profile is empty.
   *
   * @param others  where else there may be room, in this order
   * @throws ProfilePutElsewhere
   * @throws ProfileOnlyAutosaved, CannotWriteProfile if it can be put nowhere
   */
  async keep(whole: Profile, others = otherDirectories()): Promise<void> {
    await this.release()
    const profile = this.isReproducible ? reproducible(whole) : whole
    let problem: CannotWriteProfile | undefined
    try {
      await writeProfile(profile, this.path)
    } catch (error) {
      if (!(error instanceof CannotWriteProfile)) throw error
      problem = error
    }
    if (problem !== undefined) {
      const elsewhere = await putElsewhere(profile, basename(this.path), others)
      const autosaved = this.#autosave?.path
      if (elsewhere === undefined) {
        throw autosaved === undefined ? problem : new ProfileOnlyAutosaved(problem, autosaved)
      }
      await this.#discard(profile)
      throw new ProfilePutElsewhere(problem, elsewhere)
    }
    await this.#discard(profile)
  }

  /** What was autosaved is in the profile, unless that has been set to zero since and is empty. */
  async #discard({ events }: Profile): Promise<void> {
    const path = this.#autosave?.path
    if (path === undefined) return
    if (events.count > 0) await this.#autosave?.discard()
    else this.tell(`the profile is empty; what had been autosaved stays: jfluid report ${shellWord(path)}`)
  }
}

/**
 * Writes a profile that no file was named for, to another directory if it cannot be put into this one.
 *
 * @returns where it is
 * @throws CannotWriteProfile if it can be put nowhere
 */
export async function keepIn(
  directory: string,
  name: string,
  profile: Profile,
  others = otherDirectories(),
): Promise<string> {
  const path = join(directory, name)
  try {
    await writeProfile(profile, path)
    return path
  } catch (error) {
    const elsewhere =
      error instanceof CannotWriteProfile ? await putElsewhere(profile, name, others) : undefined
    if (elsewhere === undefined) throw error
    return elsewhere
  }
}

function otherDirectories(): string[] {
  return [tmpdir(), '/var/tmp', homeDirectory() ?? [], '/dev/shm'].flat()
}

/** @returns where it is; undefined if it could be put nowhere */
async function putElsewhere(
  profile: Profile,
  name: string,
  directories: readonly string[],
): Promise<string | undefined> {
  for (const directory of directories) {
    // The name itself may be what is wrong.
    for (const each of [name || 'p.jfluid', 'p.jfluid']) {
      let made: string | undefined
      try {
        made = mkdtempSync(join(directory, 'jfluid-profile-'))
        const path = join(made, each)
        await writeProfile(profile, path)
        return path
      } catch {
        if (made !== undefined) rmSync(made, { recursive: true, force: true })
      }
    }
  }
  return undefined
}
