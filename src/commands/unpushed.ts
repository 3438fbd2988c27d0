// Files of profiles that a store has not received, for `record --repeat`: they are pushed again after the next successful push.

import { rm } from 'node:fs/promises'
import { JfluidError } from '../base/errors.ts'
import { readProfile } from '../profile/file.ts'
import { PushHostUnknown, PushUnavailable } from '../push/errors.ts'
import type { Push } from '../push/push.ts'
import { mayPushAgain, type ProfileNotPushed } from './destination.ts'
import type { StopSignal } from './signals.ts'

/** Maximum number of files of profiles that the store has not received. */
export const MAX_UNPUSHED = 12

interface Item {
  readonly problem: ProfileNotPushed
  mayRepeat: boolean
}

export class UnpushedProfiles {
  readonly #items: Item[] = []

  /**
   * @param areFilesAsked  whether the user asked for the files. These files are never removed
   * @param tell           prints a line
   */
  constructor(
    readonly areFilesAsked: boolean,
    readonly tell: (line: string) => void,
  ) {}

  /** The error of the last profile that was not pushed; undefined if there is none. */
  get lastProblem(): ProfileNotPushed | undefined {
    return this.#items.at(-1)?.problem
  }

  async add(problem: ProfileNotPushed): Promise<void> {
    this.#items.push({ problem, mayRepeat: problem.mayRepeat })
    if (this.#items.length <= MAX_UNPUSHED || this.areFilesAsked) return
    const { path } = this.#items.shift()!.problem
    await rm(path, { force: true })
    this.tell(`removed ${path}: at most ${MAX_UNPUSHED} profiles that were not pushed are kept`)
  }

  /**
   * Pushes the profiles again that the store may accept. Ends early if the store is not reachable.
   *
   * @returns the number of pushed profiles
   */
  async pushAgain(to: Push, stop: StopSignal): Promise<number> {
    let pushed = 0
    for (const item of this.#items.filter(({ mayRepeat }) => mayRepeat)) {
      if (stop.signal !== null) break
      const { path } = item.problem
      const error = await pushFile(path, { ...to, labels: item.problem.to.labels }, stop)
      if (error !== null) {
        // The store refuses this profile, or the file cannot be read: the other profiles are still pushed.
        item.mayRepeat = mayPushAgain(error)
        this.tell(`${error.message}; ${path} is ${item.mayRepeat ? 'kept' : 'not pushed again'}`)
        if (error instanceof PushUnavailable || error instanceof PushHostUnknown) break
        continue
      }
      this.#items.splice(this.#items.indexOf(item), 1)
      pushed++
      if (!this.areFilesAsked) await rm(path, { force: true })
      this.tell(`pushed ${path}, which was not pushed before`)
    }
    return pushed
  }
}

/** @returns the error of the push or of the file; null if the store has received the profile */
async function pushFile(path: string, to: Push, stop: StopSignal): Promise<JfluidError | null> {
  const { push } = await import('../push/push.ts')
  const ended = new AbortController()
  const part = stop.part()
  void part.fired.then(() => ended.abort())
  try {
    await push(await readProfile(path), to, () => {}, ended.signal)
    return null
  } catch (error) {
    if (!(error instanceof JfluidError)) throw error
    return error
  } finally {
    part.dispose()
  }
}
