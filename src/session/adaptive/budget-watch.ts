// Decides when timed methods are switched off. The rows begin again at that time, so it must not happen by chance: in a quarter of a second,
// the roots' time may be half of its mean, and the cost of the probes then seems twice as high.

import { BRAKE, type Costs, type Counted, overBudget, SURGE, WHOLE } from './probe-budget.ts'

/** What a step of the controller has read. */
export interface Look {
  /** As performance.now(). */
  readonly atMs: number
  /** Number of root calls. */
  readonly rootCalls: number
  /** Number of calls, indexed by method id. */
  readonly counts: Float64Array
  /** Total time of the roots, including calls that have not ended. */
  readonly rootNs: number
}

/** Calls of the timed methods, and cost of their probes, between two looks. */
export interface Rates {
  readonly called: readonly Counted[]
  readonly costs: Costs
}

export interface Over {
  /** Ids of the methods to be switched off; empty if the cost is within the compared limit. */
  readonly off: readonly number[]
  /** Rates from which `off` was computed; undefined if no rates were compared. */
  readonly rates?: Rates
}

/** Time over which the cost of the probes is compared with SURGE, and with BRAKE or WHOLE. Two steps of the controller take longer than SURGE_MS. */
const SURGE_MS = 400
const WINDOW_MS = 4_000
/** Maximum time over which the cost is compared with BRAKE or WHOLE if the root has few calls. */
const MAX_WINDOW_MS = 60_000
/**
 * Age of the rows from which methods are switched off only if the probes exceed the whole budget. The time of root calls decreases slowly
 * while the JVM compiles code again, so that 85 % may be exceeded after a minute, and the rows of that minute would be lost.
 */
const OLD_ROWS_MS = 10_000
/** Minimum time over which the cost is compared when code has become warm. */
const MIN_WINDOW_MS = 1_000
/** Number of root calls, or part of the time that threads spend in roots, from which the roots' time is not a matter of chance. */
const MIN_CALLS = 10
const MIN_BUSY_PART = 0.5

const NOTHING: Over = { off: [] }

export class BudgetWatch {
  /** Looks of the window, oldest first. */
  #looks: Look[] = []
  /** Time of the first look since the rows began. */
  #begunAtMs: number | null = null

  /** Discards the earlier looks. Must be called when the rows begin again, and at a reset. */
  forget(): void {
    this.#looks = []
    this.#begunAtMs = null
  }

  /**
   * Compares the cost of the probes with the budget.
   * @param ratesSince  returns the rates between an earlier look and this one
   * @param isWarm      whether the rows begin again in any case: the methods were chosen while code was interpreted, and it is compiled now
   */
  check(now: Look, ratesSince: (since: Look) => Rates, isWarm: boolean): Over {
    const looks = this.#looks
    looks.push(now)
    this.#begunAtMs ??= now.atMs
    const limit = now.atMs - this.#begunAtMs < OLD_ROWS_MS ? BRAKE : WHOLE
    while (looks.length > 1 && suffices(looks[1]!, now)) looks.shift()
    const over = (since: Look | undefined, part: number): Over => {
      if (since === undefined || now.rootNs <= since.rootNs) return NOTHING
      const rates = ratesSince(since)
      return { off: overBudget(rates.called, rates.costs, part), rates }
    }
    const oldest = looks[0]!
    if (isWarm) return now.atMs - oldest.atMs >= MIN_WINDOW_MS ? over(oldest, BRAKE) : NOTHING
    const recent = looks.findLast((it) => now.atMs - it.atMs >= SURGE_MS)
    const surge = recent !== undefined && hasMany(recent, now) ? over(recent, SURGE) : NOTHING
    if (surge.off.length > 0) return surge
    return suffices(oldest, now) ? over(oldest, limit) : NOTHING
  }
}

/** Returns whether the window between two looks is long enough. */
function suffices(since: Look, now: Look): boolean {
  const ms = now.atMs - since.atMs
  return ms >= MAX_WINDOW_MS || (ms >= WINDOW_MS && hasMany(since, now))
}

/** Returns whether the roots were called or running often enough between two looks. */
function hasMany(since: Look, now: Look): boolean {
  const busyNs = MIN_BUSY_PART * (now.atMs - since.atMs) * 1e6
  return now.rootCalls - since.rootCalls >= MIN_CALLS || now.rootNs - since.rootNs >= busyNs
}
