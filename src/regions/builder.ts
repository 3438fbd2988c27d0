// Converts events to durations of regions. Each execution is one EXIT event, whose ticks are the duration (backend-java's JFluid1, "gross
// time of regions"). The time at which the event was read gives the end of the execution, with an error of a few milliseconds. Durations
// of one thread are in order; durations of several threads are nearly in order.

import type { EventSink } from '../events/decode.ts'
import { HIGH_TICKS_MASK, KIND_SHIFT, METHOD_MASK, METHOD_SHIFT } from '../events/event-halves.ts'
import { KIND_EXIT } from '../events/event-layout.ts'
import { type Buckets, Histogram } from './histogram.ts'

/** Number of latest durations that are kept for each region. */
export const LAST = 1024
const INTERVAL_MS = 500
/** Maximum number of intervals. When it is reached, adjacent intervals are merged in pairs, so that a session may have any length. */
const MAX_INTERVALS = 600
const TWO_32 = 2 ** 32

/** Snapshot of the data of one region. Durations are in ticks, times in ms since 1970. */
export interface RegionState {
  readonly id: number
  readonly count: number
  readonly sum: number
  /** Shortest duration; Infinity if there are no executions. */
  readonly min: number
  readonly max: number
  readonly buckets: Buckets
  /** Latest durations, oldest first. */
  readonly last: Float64Array
  readonly firstAt: number
  readonly lastAt: number
  /** Time at which counting began. The first interval begins at this time. */
  readonly begunAt: number
  readonly intervalMs: number
  /** Per interval: number of executions that ended in it, and the sum and the maximum of their durations. */
  readonly counts: Float64Array
  readonly sums: Float64Array
  readonly maxima: Float64Array
}

class Region {
  readonly histogram = new Histogram()
  readonly #last = new Float64Array(LAST)
  firstAt = 0
  lastAt = 0
  counts = new Float64Array(MAX_INTERVALS)
  sums = new Float64Array(MAX_INTERVALS)
  maxima = new Float64Array(MAX_INTERVALS)

  record(ticks: number, interval: number): void {
    this.#last[this.histogram.count % LAST] = ticks
    this.histogram.record(ticks)
    this.counts[interval]++
    this.sums[interval] += ticks
    if (ticks > this.maxima[interval]) this.maxima[interval] = ticks
  }

  clear(): void {
    this.histogram.clear()
    for (const column of [this.counts, this.sums, this.maxima]) column.fill(0)
  }

  /** Merges pairs of intervals. */
  coarsen(): void {
    const half = MAX_INTERVALS / 2
    for (let i = 0; i < half; i++) {
      this.counts[i] = this.counts[2 * i] + this.counts[2 * i + 1]
      this.sums[i] = this.sums[2 * i] + this.sums[2 * i + 1]
      this.maxima[i] = Math.max(this.maxima[2 * i], this.maxima[2 * i + 1])
    }
    for (const column of [this.counts, this.sums, this.maxima]) column.fill(0, half)
  }

  last(): Float64Array {
    const { count } = this.histogram
    if (count <= LAST) return this.#last.slice(0, count)
    const oldest = count % LAST
    const last = new Float64Array(LAST)
    last.set(this.#last.subarray(oldest))
    last.set(this.#last.subarray(0, oldest), LAST - oldest)
    return last
  }
}

export class RegionBuilder implements EventSink {
  /** Ticks that target threads were stalled by jfluid. */
  waitTicks = 0
  /** Regions, indexed by region id. */
  readonly #regions: (Region | undefined)[] = []
  readonly #nowMs: () => number
  #begunAt: number
  #intervalMs = INTERVAL_MS

  constructor(nowMs: () => number = () => performance.timeOrigin + performance.now()) {
    this.#nowMs = nowMs
    this.#begunAt = nowMs()
  }

  /** Records the executions of these event words. Runs for each execution, so it makes only two reads and no allocation per execution. */
  calls(words: Uint32Array, from: number, to: number, base: number): number {
    let at = from
    if (at >= to || words[at + 1] >>> KIND_SHIFT !== KIND_EXIT) return at
    const now = this.#nowMs()
    const interval = this.#intervalAt(now)
    for (; at < to; at += 2) {
      const high = words[at + 1]
      if (high >>> KIND_SHIFT !== KIND_EXIT) break
      const region = this.#regionAt((high >>> METHOD_SHIFT) & METHOD_MASK, now)
      region.record(base + (high & HIGH_TICKS_MASK) * TWO_32 + words[at], interval)
      region.lastAt = now
    }
    return at
  }

  #regionAt(id: number, now: number): Region {
    const known = this.#regions[id]
    if (known !== undefined && known.histogram.count > 0) return known
    const region = known ?? new Region()
    this.#regions[id] = region
    region.firstAt = now
    return region
  }

  #intervalAt(now: number): number {
    const since = Math.max(0, now - this.#begunAt)
    while (since >= MAX_INTERVALS * this.#intervalMs) {
      this.#intervalMs *= 2
      for (const region of this.#regions) region?.coarsen()
    }
    return Math.floor(since / this.#intervalMs)
  }

  adjust(ticks: number): void {
    this.waitTicks += ticks
  }

  /** Number of regions with executions. */
  get executed(): number {
    return this.#regions.filter((it) => it !== undefined && it.histogram.count > 0).length
  }

  has(id: number): boolean {
    return this.#regions[id] !== undefined
  }

  /** Resets all counts to zero. */
  reset(): void {
    for (const region of this.#regions) region?.clear()
    this.waitTicks = 0
    this.#begunAt = this.#nowMs()
    this.#intervalMs = INTERVAL_MS
  }

  /** Returns the states of the executed regions, in the order of their ids. */
  states(): RegionState[] {
    const used = this.#intervalAt(this.#nowMs()) + 1
    const states: RegionState[] = []
    this.#regions.forEach((region, id) => {
      if (region === undefined) return
      const { histogram, firstAt, lastAt, counts, sums, maxima } = region
      const { count, sum, min, max } = histogram
      states.push({
        ...{ id, count, sum, min, max, buckets: histogram.buckets(), last: region.last(), firstAt, lastAt },
        ...{ begunAt: this.#begunAt, intervalMs: this.#intervalMs },
        counts: counts.slice(0, used),
        sums: sums.slice(0, used),
        maxima: maxima.slice(0, used),
      })
    })
    return states
  }
}
