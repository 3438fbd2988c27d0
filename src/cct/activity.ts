// Number of events or samples of each thread in each of the latest seconds, for views of running threads. Seconds are those of the client's
// clock, which is some milliseconds behind the target's clock.

/** Number of seconds kept. */
const SECONDS = 60

/** Recent activity of a thread. */
export interface Activity {
  /** Number of events or samples in each completed second, oldest second first. */
  readonly perSecond: Uint32Array
  /** Number of threads inside a root; undefined if the recording does not report this. */
  readonly inside?: number
}

/** Activity of one thread, or of all virtual threads together. Recording takes time only for threads that have events. */
export class ThreadActivity {
  readonly #told = new Uint32Array(SECONDS)
  /** Latest second with activity. The kept data end with this second. */
  #second = -1

  /** @param second  at least the second of the previous call */
  add(second: number, told: number): void {
    if (second !== this.#second) this.#goOn(second)
    this.#told[second % SECONDS]! += told
  }

  #goOn(second: number): void {
    for (let each = Math.max(this.#second + 1, second - SECONDS + 1); each <= second; each++)
      this.#told[each % SECONDS] = 0
    this.#second = second
  }

  /** Returns the activity of the seconds before `second`. `second` itself is excluded, since it is incomplete. */
  before(second: number): Uint32Array {
    return Uint32Array.from({ length: SECONDS - 1 }, (_, i) => {
      const each = second - SECONDS + 1 + i
      return each >= 0 && each <= this.#second && each > this.#second - SECONDS
        ? this.#told[each % SECONDS]!
        : 0
    })
  }

  /** Returns whether the thread was silent in every kept second. */
  isSilentAt(second: number): boolean {
    return this.#second <= second - SECONDS
  }
}

/** Activity of all threads, keyed by row: a thread's number, or 0 for all virtual threads. Silent threads have no entry. */
export class Activities {
  readonly #byRow = new Map<number, ThreadActivity>()
  #lookedAt = 0

  /** Number of entries. */
  get size(): number {
    return this.#byRow.size
  }

  /** Returns the entry of a thread with activity. The entry is valid until the next call of this method. */
  of(row: number, second: number): ThreadActivity {
    if (second - this.#lookedAt >= SECONDS) this.#forgetSilent(second)
    const known = this.#byRow.get(row)
    if (known !== undefined) return known
    const made = new ThreadActivity()
    this.#byRow.set(row, made)
    return made
  }

  /** Returns the activity of the seconds before `second`. */
  before(row: number, second: number): Uint32Array {
    return (this.#byRow.get(row) ?? NOTHING).before(second)
  }

  #forgetSilent(second: number): void {
    this.#lookedAt = second
    for (const [row, activity] of this.#byRow) if (activity.isSilentAt(second)) this.#byRow.delete(row)
  }

  clear(): void {
    this.#byRow.clear()
  }
}

const NOTHING = new ThreadActivity()
