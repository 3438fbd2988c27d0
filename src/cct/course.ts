// The course of a recording, second by second: calls of roots and how long they took, events, waiting, pauses.
//
// A second is one of the reader's clock, which is behind the target's by some milliseconds. The latest two stay open: a pause that
// is told late is taken out of calls that have ended by then.

import { Histogram } from '../regions/histogram.ts'
import { percentileOf } from '../regions/times.ts'

/** Seconds that are kept, the latest: an hour. */
export const MOST_SECONDS = 3600

const COLUMNS = ['calls', 'mean', 'p50', 'p95', 'max', 'events', 'wait', 'pauses', 'paused'] as const
type Column = (typeof COLUMNS)[number]

/**
 * One value a second, oldest first; the last second is not over. Of root calls that ended in it: `calls`, how many, and `mean`,
 * `p50`, `p95`, `max`, 0 where there were none. `events` told, `wait`: of threads of the target for us; `pauses`: redefinitions that
 * stopped it, `paused` for how long. Times in ticks.
 */
export interface CourseState extends Readonly<Record<Column, Float64Array>> {
  /** Seconds before the first of these. */
  readonly first: number
}

export class Course {
  readonly #columns = Object.fromEntries(
    COLUMNS.map((name) => [name, new Float64Array(MOST_SECONDS)]),
  ) as Record<Column, Float64Array>
  /** Of the second that goes on, and of the one before. */
  #now = new Histogram()
  #before = new Histogram()
  #begunAt: number
  #second = 0
  #elapsedMs = 0
  #events = 0
  #wait = 0

  /** @param nowMs  of any clock that does not go back */
  constructor(nowMs = 0) {
    this.#begunAt = nowMs
  }

  /** How long it has been, in ms: up to the latest look. */
  get elapsedMs(): number {
    return this.#elapsedMs
  }

  /** The time has come this far, and so many events and ticks of waiting in all. */
  tick(nowMs: number, events: number, wait: number): void {
    const at = this.#second % MOST_SECONDS
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
    const first = Math.max(this.#second + 1, second - MOST_SECONDS + 1)
    for (let each = first; each <= second; each++)
      for (const name of COLUMNS) this.#columns[name][each % MOST_SECONDS] = 0
    this.#second = second
  }

  /** A root call has ended. @returns its second */
  record(ticks: number): number {
    this.#now.record(ticks)
    return this.#second
  }

  /** It took this, and not that: a second that is settled stays as it is. */
  correct(second: number, before: number, after: number): void {
    const histogram =
      second === this.#second ? this.#now : second === this.#second - 1 ? this.#before : undefined
    histogram?.remove(before)
    histogram?.record(after)
  }

  pause(ticks: number): void {
    const at = this.#second % MOST_SECONDS
    this.#columns.pauses[at]!++
    this.#columns.paused[at]! += ticks
  }

  #settle(): void {
    this.#write(this.#second, this.#now)
    if (this.#second > 0) this.#write(this.#second - 1, this.#before)
  }

  #write(second: number, histogram: Histogram): void {
    // Of a longer silence nothing is left to be written.
    if (histogram.count === 0) return
    const at = second % MOST_SECONDS
    const { calls, mean, p50, p95, max } = this.#columns
    const state = { ...histogram, buckets: histogram.buckets() }
    calls[at] = histogram.count
    mean[at] = histogram.sum / histogram.count
    p50[at] = percentileOf(state, 0.5)
    p95[at] = percentileOf(state, 0.95)
    max[at] = histogram.max
  }

  /** Begins anew, with counts as they are. */
  reset(nowMs: number, events: number, wait: number): void {
    for (const name of COLUMNS) this.#columns[name].fill(0)
    this.#now.clear()
    this.#before.clear()
    this.#begunAt = nowMs
    this.#second = this.#elapsedMs = 0
    this.#events = events
    this.#wait = wait
  }

  /** The latest seconds, at most so many. */
  state(most = MOST_SECONDS): CourseState {
    this.#settle()
    const count = Math.min(this.#second + 1, most, MOST_SECONDS)
    const first = this.#second + 1 - count
    const latest = (name: Column) =>
      Float64Array.from({ length: count }, (_, i) => this.#columns[name][(first + i) % MOST_SECONDS]!)
    const columns = Object.fromEntries(COLUMNS.map((name) => [name, latest(name)]))
    return { first, ...(columns as Record<Column, Float64Array>) }
  }
}
