// Protects a recording against a crash of jfluid. During the recording, the current profile is repeatedly saved to a file beside the output
// file. After a normal end, this file is removed.
//
// The target does not wait for a save: the recorder's worker continues to read events while it copies its trees, and the main thread writes
// the file in pieces.

import { lstatSync } from 'node:fs'
import { unlink } from 'node:fs/promises'
import { AUTOSAVE_ENDING } from '../profile/autosaved.ts'
import { CannotWriteProfile } from '../profile/errors.ts'
import { writeProfile } from '../profile/file.ts'
import type { Profile } from '../profile/profile.ts'

/** Saving takes at most 1/20 of the time. */
const MIN_PAUSE_FACTOR = 20
/** Note in the saved profile. */
export const AUTOSAVED =
  'autosaved during the recording, because jfluid did not end normally: later calls are missing'

export interface Saved {
  profileSoFar(why: string): Promise<Profile> | Profile
}

export class Autosave {
  #path: string | undefined
  #hasTold = false
  #isStopped = false
  #timer: NodeJS.Timeout | undefined
  #saving: Promise<void> = Promise.resolve()

  /**
   * Starts the autosaves at once.
   *
   * @param beside   the output file of the profile
   * @param everyMs  interval between saves; longer if a save takes long
   */
  constructor(
    private readonly session: Saved,
    private readonly beside: string,
    private readonly everyMs: number,
    private readonly tell: (line: string) => void,
  ) {
    this.#arm(everyMs)
  }

  /** Path of the saved file; undefined before the first save. */
  get path(): string | undefined {
    return this.#path
  }

  #arm(ms: number): void {
    this.#timer = setTimeout(() => {
      const begun = performance.now()
      this.#saving = this.#save().then(() => {
        const spent = performance.now() - begun
        if (!this.#isStopped) this.#arm(Math.max(this.everyMs, spent * MIN_PAUSE_FACTOR))
      })
    }, ms)
    this.#timer.unref()
  }

  async #save(): Promise<void> {
    try {
      const profile = await this.session.profileSoFar(AUTOSAVED)
      if (profile.events.count === 0 || this.#isStopped) return
      const path = this.#path ?? freeName(this.beside)
      await writeProfile(profile, path)
      this.#path = path
    } catch (error) {
      // Other errors come from a session that is ending. The session reports its errors itself.
      if (error instanceof CannotWriteProfile) this.#complain(error)
    }
  }

  /** Reports the error once. A later save may succeed, for example if the disk has free space again. */
  #complain({ message }: CannotWriteProfile): void {
    if (!this.#hasTold) this.tell(`autosave failed, and recording continues: ${message}`)
    this.#hasTold = true
  }

  /** Prevents further saves, and waits for the current save. */
  async stop(): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#timer)
    await this.#saving
  }

  /** Removes the saved file after the profile has been written. Call this method after `stop`. */
  async discard(): Promise<void> {
    if (this.#path !== undefined) await unlink(this.#path).catch(() => {})
    this.#path = undefined
  }
}

/** Returns an unused name. Never overwrites the file of another jfluid process. A dangling link counts as used. */
function freeName(beside: string): string {
  const first = `${beside}${AUTOSAVE_ENDING}`
  for (let number = 2; ; number++) {
    const name = number === 2 ? first : `${first}.${number - 1}`
    try {
      if (lstatSync(name, { throwIfNoEntry: false }) === undefined) return name
    } catch {
      return name // the file cannot be checked, for example because the name is too long; the later write reports the reason
    }
  }
}
