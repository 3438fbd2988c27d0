// Values of a recording per second: root calls and their durations, events, stalls, pauses. Seconds are those of the client's clock, which
// is some milliseconds behind the target's clock. The values of the latest two seconds can still change, so that a pause that arrives late
// can be subtracted from calls that have already ended.

import { Histogram } from '../regions/histogram.ts'
import { percentileOf } from '../regions/times.ts'

/** Maximum number of seconds for which values are kept: one hour. Older seconds are discarded. */
export const MAX_SECONDS = 3600

const COLUMNS = ['calls', 'mean', 'p50', 'p95', 'max', 'events', 'wait', 'pauses', 'paused'] as const
type Column = (typeof COLUMNS)[number]

/**
 * One value per second, oldest first; the last second is incomplete. `calls`: number of root calls that ended in the second. `mean`, `p50`,
 * `p95`, `max`: durations of these root calls, 0 if there were none. `events`: number of events received. `wait`: time that target threads
 * were stalled by jfluid. `pauses`: number of redefinitions that stopped the target. `paused`: duration of these redefinitions. All times
 * are in ticks.
 */
export interface CourseState extends Readonly<Record<Column, Float64Array>> {
  /** Number of seconds before the first value. */
  readonly first: number
}

export class Course {
  readonly #columns = Object.fromEntries(
    COLUMNS.map((name) => [name, new Float64Array(MAX_SECONDS)]),
  ) as Record<Column, Float64Array>
  /** Histograms of the current second and of the previous second. */
  #now = new Histogram()
  #before = new Histogram()
  #begunAt: number
  #second = 0
  #elapsedMs = 0
  #events = 0
  #wait = 0

  /** @param nowMs  time of any monotonic clock */
  constructor(nowMs = 0) {
    this.#begunAt = nowMs
  }

  /** Elapsed time in ms, up to the latest call of `tick`. */
  get elapsedMs(): number {
    return this.#elapsedMs
  }

  /** Advances to `nowMs`, with the total numbers of events and stalled ticks so far. */
  tick(nowMs: number, events: number, wait: number): void {
    const at = this.#second % MAX_SECONDS
    this.#columns.events[at]! += events - this.#events
    this.#columns.wait[at]! += wait - this.#wait
    this.#events = events
    this.#wait = wait
    this.#elapsedMs = nowMs - this.#begunAt
    const second = Math.floor(this.#elapsedMs / 1000)
    if (second > this.#second) this.#goOn(second)
  }

  #goOn(second: number): void {
    this.#settle()
    const old = this.#before
    this.#before = this.#now
    this.#now = old
    this.#now.clear()
    if (second > this.#second + 1) this.#before.clear()
    const first = Math.max(this.#second + 1, second - MAX_SECONDS + 1)
    for (let each = first; each <= second; each++)
      for (const name of COLUMNS) this.#columns[name][each % MAX_SECONDS] = 0
    this.#second = second
  }

  /** Records a finished root call. @returns the second of the recording in which the call ended */
  record(ticks: number): number {
    this.#now.record(ticks)
    return this.#second
  }

  /** Replaces the duration of a call that ended in `second`. Seconds before the latest two stay unchanged. */
  correct(second: number, before: number, after: number): void {
    const histogram =
      second === this.#second ? this.#now : second === this.#second - 1 ? this.#before : undefined
    histogram?.remove(before)
    histogram?.record(after)
  }

  pause(ticks: number): void {
    const at = this.#second % MAX_SECONDS
    this.#columns.pauses[at]!++
    this.#columns.paused[at]! += ticks
  }

  #settle(): void {
    this.#write(this.#second, this.#now)
    if (this.#second > 0) this.#write(this.#second - 1, this.#before)
  }

  #write(second: number, histogram: Histogram): void {
    // After a long silence, the histogram is empty and nothing remains to be written.
    if (histogram.count === 0) return
    const at = second % MAX_SECONDS
    const { calls, mean, p50, p95, max } = this.#columns
    const state = { ...histogram, buckets: histogram.buckets() }
    calls[at] = histogram.count
    mean[at] = histogram.sum / histogram.count
    p50[at] = percentileOf(state, 0.5)
    p95[at] = percentileOf(state, 0.95)
    max[at] = histogram.max
  }

  /** Discards all values and restarts at `nowMs`. Later totals of events and stalls are counted from the totals given here. */
  reset(nowMs: number, events: number, wait: number): void {
    for (const name of COLUMNS) this.#columns[name].fill(0)
    this.#now.clear()
    this.#before.clear()
    this.#begunAt = nowMs
    this.#second = this.#elapsedMs = 0
    this.#events = events
    this.#wait = wait
  }

  /** Returns the values of the latest seconds, at most `most` seconds. */
  state(most = MAX_SECONDS): CourseState {
    this.#settle()
    const count = Math.min(this.#second + 1, most, MAX_SECONDS)
    const first = this.#second + 1 - count
    const latest = (name: Column) =>
      Float64Array.from({ length: count }, (_, i) => this.#columns[name][(first + i) % MAX_SECONDS]!)
    const columns = Object.fromEntries(COLUMNS.map((name) => [name, latest(name)]))
    return { first, ...(columns as Record<Column, Float64Array>) }
  }
}
