// Output file of a recording. The file is checked before the target is touched. Autosaves protect the data during the recording. If the
// file cannot be written in the end, another file is used, since the recorded run may not be repeatable.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { EX_CANTCREAT, JfluidError } from '../base/errors.ts'
import { homeDirectory } from '../base/home.ts'
import { shellWord } from '../base/shell-word.ts'
import type { Flags } from '../options/table.ts'
import { DEFAULT_AUTOSAVE_INTERVAL_MS } from '../options/where-to.ts'
import { autosavedBeside } from '../profile/autosaved.ts'
import { CannotWriteProfile, errorCode } from '../profile/errors.ts'
import { writeProfile } from '../profile/file.ts'
import type { Profile } from '../profile/profile.ts'
import { probeFile } from '../profile/replace-file.ts'
import { reproducible } from '../profile/reproducible.ts'
import { Autosave, type Saved } from './autosave.ts'

/** The profile could not be written to the requested file. The profile is in another file. */
export class ProfilePutElsewhere extends JfluidError {
  static sample = () =>
    new ProfilePutElsewhere(new CannotWriteProfile('/srv/app.jfluid', 'ENOSPC'), '/tmp/app.jfluid')
  readonly exitCode = EX_CANTCREAT
  readonly hint: string
  /** Actual path of the profile. */
  readonly path: string
  constructor(problem: CannotWriteProfile, elsewhere: string) {
    super(`${problem.message}; the profile is in ${elsewhere}`)
    this.path = elsewhere
    this.hint = `Read the profile with: jfluid report ${shellWord(elsewhere)}`
  }
}

/** The profile could not be created or written. Only the last autosave of the recording exists. */
export class ProfileOnlyAutosaved extends JfluidError {
  static sample = () =>
    new ProfileOnlyAutosaved(new CannotWriteProfile('/srv/app.jfluid', 'ENOSPC'), '/srv/app.jfluid.autosave')
  readonly exitCode: number
  readonly hint: string
  constructor(problem: JfluidError, autosaved: string) {
    super(`${problem.message}; a profile that was autosaved some seconds before the end is in ${autosaved}`)
    this.exitCode = problem.exitCode
    this.hint = `Read the profile with: jfluid report ${shellWord(autosaved)}`
  }
}

export type PlaceFlags = Pick<Flags<'record'>, 'autosave' | 'reproducible'>

export class ProfilePlace {
  #autosave: Autosave | undefined

  private constructor(
    readonly path: string,
    /** Interval between autosaves; null if disabled. */
    readonly everyMs: number | null,
    readonly isReproducible: boolean,
    readonly tell: (line: string) => void,
  ) {}

  /**
   * Checks the file.
   *
   * @param tell  receives messages about autosaves, during this call and the recording
   * @throws CannotWriteProfile before the recording begins
   */
  static async at(path: string, flags: PlaceFlags, tell: (line: string) => void): Promise<ProfilePlace> {
    let isSpecial: boolean
    try {
      isSpecial = await probeFile(path)
    } catch (error) {
      throw new CannotWriteProfile(path, errorCode(error))
    }
    const left = autosavedBeside(path)
    if (left !== undefined) {
      tell(
        `${left} contains a recording that is still running or did not end normally; jfluid keeps it: jfluid report ${shellWord(left)}`,
      )
    }
    const { autosave = DEFAULT_AUTOSAVE_INTERVAL_MS, reproducible } = flags
    const everyMs = isSpecial || autosave === 'off' ? null : autosave
    return new ProfilePlace(path, everyMs, reproducible === true, tell)
  }

  /** Starts the autosaves. */
  guard(session: Saved): void {
    if (this.everyMs !== null) this.#autosave = new Autosave(session, this.path, this.everyMs, this.tell)
  }

  /** Stops the autosaves. Call this method before the recording ends. */
  async release(): Promise<void> {
    await this.#autosave?.stop()
  }

  /**
   * Waits for the profile. Call this method after `release`.
   *
   * @throws ProfileOnlyAutosaved if the profile cannot be created, but an autosave exists
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
   * Writes the profile. If the requested file cannot be written, uses another directory. Then removes the autosave, unless the profile is
   * empty.
   *
   * @param others  alternative directories, tried in this order
   * @throws ProfilePutElsewhere
   * @throws ProfileOnlyAutosaved, CannotWriteProfile if no file can be written
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

  /** Removes the autosave, since the profile contains its data. After a reset the profile may be empty; then the autosave is kept. */
  async #discard({ events }: Profile): Promise<void> {
    const path = this.#autosave?.path
    if (path === undefined) return
    if (events.count > 0) await this.#autosave?.discard()
    else this.tell(`the profile is empty; the autosaved profile is kept: jfluid report ${shellWord(path)}`)
  }
}

/**
 * Writes a profile without a requested file name. If this directory is not writable, uses another directory.
 *
 * @returns the path of the profile
 * @throws CannotWriteProfile if no file can be written
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

/** @returns the path of the profile; undefined if no file can be written */
async function putElsewhere(
  profile: Profile,
  name: string,
  directories: readonly string[],
): Promise<string | undefined> {
  for (const directory of directories) {
    // The file name itself may be invalid.
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
