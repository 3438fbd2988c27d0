// The page with a thread dump of the JVM.

import { JfluidError, messageOf } from '../base/errors.ts'
import { ManyThreads } from '../base/many-threads.ts'
import { clean, wrap } from './format.ts'
import type { FrameSource } from './frame.ts'

/** Returns the lines of a thread dump for the width of a screen. */
export type ThreadText = (columns: number) => readonly string[]

/**
 * Minimum time without the key before a key takes a dump, after a dump or an error. Each dump stops the JVM. A key that is held down
 * repeats faster, so it takes one dump only and never confirms a dump.
 */
const MIN_INTERVAL_MS = 1000

export class ThreadPage {
  #text: ThreadText = () => []
  #isTaking = false
  /** Whether the page asks the user to confirm the dump. */
  #isAsking = false
  /** Time of the latest key, dump or error. */
  #latest = Number.NEGATIVE_INFINITY

  /** @param draw  draws the view */
  constructor(
    private readonly draw: () => void,
    private readonly now = () => performance.now(),
  ) {}

  /**
   * Takes a dump, unless the previous dump, error or key is too recent.
   *
   * @returns the reason why there is no page; null if the page can be shown
   */
  open({ dumpThreads }: Pick<FrameSource, 'dumpThreads'>, goesOn: boolean): string | null {
    if (!goesOn) return 'the session has ended: no thread dump can be taken'
    if (dumpThreads === undefined)
      return 'no thread dump while several JVMs are profiled: use jfluid threads for one of them'
    const isDue = this.now() - this.#latest >= MIN_INTERVAL_MS
    this.#latest = this.now()
    if (isDue && !this.#isTaking) void this.#take(dumpThreads)
    return null
  }

  async #take(dump: (isConfirmed: boolean) => Promise<ThreadText>): Promise<void> {
    const isConfirmed = this.#isAsking
    this.#isTaking = true
    this.#isAsking = false
    this.#text = () => ['The JVM takes a thread dump.']
    try {
      this.#text = await dump(isConfirmed)
    } catch (error) {
      // The error of a session on another machine has the same name, but another class.
      this.#isAsking = error instanceof JfluidError && error.name === ManyThreads.name
      const hint = error instanceof JfluidError ? `. ${error.hint}` : ''
      this.#text = (columns) => wrap(clean(messageOf(error) + hint), columns)
    }
    this.#isTaking = false
    this.#latest = this.now()
    this.draw()
  }

  lines(columns: number): readonly string[] {
    return this.#text(columns)
  }
}
