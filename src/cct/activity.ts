// What each thread has told in each of the latest seconds, for whoever looks at threads while they run. A second is one of the
// reader's clock, which is behind the target's by some milliseconds.

/** Seconds that are kept. */
const SECONDS = 60

/** What threads have done lately. */
export interface Activity {
  /** By second, oldest first, those that are over: events, or samples. */
  readonly perSecond: Uint32Array
  /** How many of them are inside a root; undefined where that is not told. */
  readonly inside?: number
}

/** Of one thread, or of all virtual ones. Nothing is to be done for it while it tells nothing. */
export class ThreadActivity {
  readonly #told = new Uint32Array(SECONDS)
  /** The latest one with something in it; those that are kept end with it. */
  #second = -1

  /** @param second  not before that of the call before */
  add(second: number, told: number): void {
    if (second !== this.#second) this.#goOn(second)
    this.#told[second % SECONDS]! += told
  }

  #goOn(second: number): void {
    for (let each = Math.max(this.#second + 1, second - SECONDS + 1); each <= second; each++)
      this.#told[each % SECONDS] = 0
    this.#second = second
  }

  /** By second, those before this one, which is not over. */
  before(second: number): Uint32Array {
    return Uint32Array.from({ length: SECONDS - 1 }, (_, i) => {
      const each = second - SECONDS + 1 + i
      return each >= 0 && each <= this.#second && each > this.#second - SECONDS
        ? this.#told[each % SECONDS]!
        : 0
    })
  }

  /** Whether it has told nothing in any second that is kept. */
  isSilentAt(second: number): boolean {
    return this.#second <= second - SECONDS
  }
}

/** Of all threads, by row: a thread's number, or 0 for all virtual ones. Those that have told nothing for a while have none. */
export class Activities {
  readonly #byRow = new Map<number, ThreadActivity>()
  #lookedAt = 0

  /** How many are kept. */
  get size(): number {
    return this.#byRow.size
  }

  /** Of one that tells something; it is good until the next call of this. */
  of(row: number, second: number): ThreadActivity {
    if (second - this.#lookedAt >= SECONDS) this.#forgetSilent(second)
    const known = this.#byRow.get(row)
    if (known !== undefined) return known
    const made = new ThreadActivity()
    this.#byRow.set(row, made)
    return made
  }

  /** By second, those before this one. */
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
