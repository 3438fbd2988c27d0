// What a crash of ours must not take along: while a recording goes on, what there is so far is written beside the file that it
// is for, again and again. Where the recording ends as it should, nothing of that is left.
//
// The target does not wait for it: the recorder's worker goes on reading events while it copies its trees, and the main thread
// writes in pieces.

import { lstatSync } from 'node:fs'
import { unlink } from 'node:fs/promises'
import { AUTOSAVE_ENDING } from '../profile/autosaved.ts'
import { CannotWriteProfile } from '../profile/errors.ts'
import { writeProfile } from '../profile/file.ts'
import type { Profile } from '../profile/profile.ts'

/** At most one part in so many of the time goes into saving. */
const SHARE_OF_TIME = 20
/** What the file says of itself. */
export const AUTOSAVED =
  'autosaved while it was recorded, and jfluid did not end as it should: what came later is missing'

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
   * Begins at once.
   *
   * @param beside   the file that the profile is for
   * @param everyMs  from one to the next; longer where they take long
   */
  constructor(
    private readonly session: Saved,
    private readonly beside: string,
    private readonly everyMs: number,
    private readonly tell: (line: string) => void,
  ) {
    this.#arm(everyMs)
  }

  /** The file, once there is one. */
  get path(): string | undefined {
    return this.#path
  }

  #arm(ms: number): void {
    this.#timer = setTimeout(() => {
      const begun = performance.now()
      this.#saving = this.#save().then(() => {
        const spent = performance.now() - begun
        if (!this.#isStopped) this.#arm(Math.max(this.everyMs, spent * SHARE_OF_TIME))
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
      // Any other is of a session that is ending, which says itself what is wrong.
      if (error instanceof CannotWriteProfile) this.#complain(error)
    }
  }

  /** Once: the next time there may be room again. */
  #complain({ message }: CannotWriteProfile): void {
    if (!this.#hasTold) this.tell(`cannot autosave, and recording goes on: ${message}`)
    this.#hasTold = true
  }

  /** No more of them; what is being written is finished. */
  async stop(): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#timer)
    await this.#saving
  }

  /** Removes what there is of it: all has been kept. After `stop`. */
  async discard(): Promise<void> {
    if (this.#path !== undefined) await unlink(this.#path).catch(() => {})
    this.#path = undefined
  }
}

/** What another jfluid has left is not lost by us, and a link that leads nowhere is there, too. */
function freeName(beside: string): string {
  const first = `${beside}${AUTOSAVE_ENDING}`
  for (let number = 2; ; number++) {
    const name = number === 2 ? first : `${first}.${number - 1}`
    try {
      if (lstatSync(name, { throwIfNoEntry: false }) === undefined) return name
    } catch {
      return name // it cannot be looked at, as one that is too long; who writes there says why
    }
  }
}
