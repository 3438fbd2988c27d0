// Samples of threads inside roots with their times, so that a time range of a recording has sampled rows, too.

import { enlarged } from '../base/enlarged.ts'
import type { FrameName } from '../base/frame-name.ts'
import type { StackSample } from '../base/stack-sample.ts'
import type { CallSpan } from './slow-times.ts'

/** Samples, and their stacks as in `SampleBatch`. All columns have one value per sample, in the order of their times. */
export interface SampleTimes {
  readonly frames: readonly FrameName[]
  readonly stacks: Int32Array
  readonly thread: Int32Array
  readonly stack: Int32Array
  readonly state: Int32Array
  readonly call: Float64Array
  /** Time since the start of the recording. */
  readonly ms: Float64Array
  /** Nanoseconds that a sample represents. */
  readonly weight: Float64Array
}

/** Maximum number of samples: 11 MiB. Above it, every second sample of the older half is discarded, and the others count twice. */
const MAX_SAMPLES = 2 ** 18

export class KeptSamples {
  readonly #bound: number
  #thread = new Int32Array(0)
  #number = new Int32Array(0)
  #stack = new Int32Array(0)
  #state = new Int32Array(0)
  #call = new Float64Array(0)
  #ticks = new Float64Array(0)
  #weight = new Float64Array(0)
  count = 0

  constructor(bound = MAX_SAMPLES) {
    this.#bound = bound
  }

  add({ thread, number, stack, state, call, ticks, weight }: StackSample): void {
    if (this.count === this.#bound) this.#thinOut()
    if (this.count === this.#thread.length) this.#grow()
    const at = this.count++
    this.#thread[at] = thread
    this.#number[at] = number
    this.#stack[at] = stack
    this.#state[at] = state
    this.#call[at] = call
    this.#ticks[at] = ticks
    this.#weight[at] = weight
  }

  clear(): void {
    this.count = 0
  }

  /** Returns the samples. @param msOf  converts ticks to ms since the start of the recording */
  times(msOf: (ticks: number) => number): Omit<SampleTimes, 'frames' | 'stacks'> {
    const { count } = this
    return {
      thread: this.#thread.slice(0, count),
      stack: this.#stack.slice(0, count),
      state: this.#state.slice(0, count),
      call: this.#call.slice(0, count),
      ms: this.#ticks.slice(0, count).map(msOf),
      weight: this.#weight.slice(0, count),
    }
  }

  /** Yields the samples that were taken within one of the spans. */
  *within(spans: readonly CallSpan[]): Generator<StackSample> {
    const ofThreads = new Map<number, number[]>()
    for (const { thread } of spans) ofThreads.set(thread, [])
    for (let at = 0; at < this.count; at++) ofThreads.get(this.#number[at]!)?.push(at)
    for (const { thread, fromTicks, toTicks } of spans) {
      const own = ofThreads.get(thread)!
      for (let i = this.#firstFrom(own, fromTicks); i < own.length && this.#ticks[own[i]!]! <= toTicks; i++)
        yield this.#sample(own[i]!)
    }
  }

  /** Returns the index of the first of some samples, in the order of their times, that was taken at `ticks` or later. */
  #firstFrom(samples: readonly number[], ticks: number): number {
    let [low, high] = [0, samples.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.#ticks[samples[middle]!]! < ticks) low = middle + 1
      else high = middle
    }
    return low
  }

  #sample(at: number): StackSample {
    return {
      ...{ thread: this.#thread[at]!, number: this.#number[at]!, stack: this.#stack[at]! },
      ...{
        state: this.#state[at]!,
        call: this.#call[at]!,
        ticks: this.#ticks[at]!,
        weight: this.#weight[at]!,
      },
    }
  }

  #grow(): void {
    const last = Math.max(1024, this.count * 2) - 1
    this.#thread = enlarged(this.#thread, last)
    this.#number = enlarged(this.#number, last)
    this.#stack = enlarged(this.#stack, last)
    this.#state = enlarged(this.#state, last)
    this.#call = enlarged(this.#call, last)
    this.#ticks = enlarged(this.#ticks, last)
    this.#weight = enlarged(this.#weight, last)
  }

  #thinOut(): void {
    const half = this.#bound >> 1
    const columns = [
      this.#thread,
      this.#number,
      this.#stack,
      this.#state,
      this.#call,
      this.#ticks,
      this.#weight,
    ]
    let into = 0
    for (let from = 0; from < this.count; from += from < half ? 2 : 1) {
      for (const column of columns) column[into] = column[from]
      if (from < half) this.#weight[into] *= 2
      into++
    }
    this.count = into
  }
}
