// Stacks of threads inside roots, from the agent's sampler: a tree of frames, with the samples at each node.

import type { FrameName } from '../base/frame-name.ts'
import type { SampleBatch, StackSample } from '../base/stack-sample.ts'
import { STATES, stateOf } from './sample-states.ts'

/** Samples with the same stack on the same thread. */
export interface Seen {
  /** Nanoseconds that the samples represent, per state. */
  readonly weights: Float64Array
  /** Sum of the squared weights of the samples. */
  squares: number
  samples: number
  /** Numbers of the root calls that were sampled. All samples of one call count as one observation. */
  readonly observations: number[]
}

interface SeenOfThread {
  readonly byStack: Map<number, Seen>
  /** Latest sampled root call of a thread, and its number. */
  lastCall: number
  observation: number
}

/** Replaces the thread numbers of virtual threads. */
const VIRTUAL = 0

/** Matches frames of the jfluid runtime, which are innermost while a probe runs. */
const OURS = /^java\.lang\.(?:invoke\.)?JFluid1/

export class InsideSamples {
  readonly frames: FrameName[] = []
  /** Caller of each stack, 0 if none. Stack 0 is the empty stack. */
  readonly parents: number[] = [0]
  /** Innermost frame of each stack. */
  readonly frameOf: number[] = [-1]
  /** Number of frames of each stack. */
  readonly depths: number[] = [0]
  #byThread = new Map<number, SeenOfThread>()
  /** Observations of virtual threads (which share one number), keyed by their calls. */
  #virtual = new Map<number, number>()
  #samples = 0
  #observations = 0

  /** Number of samples since the last reset. */
  get count(): number {
    return this.#samples
  }

  /** Number of sampled root calls. */
  get calls(): number {
    return this.#observations
  }

  /** @param fromTicks  start of the recording; earlier samples belong to a recording before a reset, and are ignored */
  add(batch: SampleBatch, fromTicks = Number.NEGATIVE_INFINITY): void {
    for (const it of batch.frames) this.frames.push(it)
    const { stacks } = batch
    for (let at = 0; at + 1 < stacks.length; at += 2) {
      this.parents.push(stacks[at]!)
      this.depths.push((this.depths[stacks[at]!] ?? 0) + 1)
      this.frameOf.push(stacks[at + 1]!)
    }
    for (const it of batch.samples) if (it.ticks >= fromTicks) this.#take(it)
  }

  /** Discards all samples; stacks keep their numbers. */
  reset(): void {
    this.#byThread = new Map()
    this.#virtual = new Map()
    this.#samples = this.#observations = 0
  }

  #take({ thread, stack: given, state, call, weight }: StackSample): void {
    const stack = this.#withoutOurs(given)
    if (stack === 0) return
    let ofThread = this.#byThread.get(thread)
    if (ofThread === undefined) {
      ofThread = { byStack: new Map(), lastCall: -1, observation: -1 }
      this.#byThread.set(thread, ofThread)
    }
    const observation = thread === VIRTUAL ? this.#virtual.get(call) : undefined
    if (observation !== undefined) ofThread.observation = observation
    else if (ofThread.lastCall !== call) ofThread.observation = this.#observations++
    ofThread.lastCall = call
    if (thread === VIRTUAL) this.#virtual.set(call, ofThread.observation)
    let seen = ofThread.byStack.get(stack)
    if (seen === undefined) {
      seen = { weights: new Float64Array(STATES.length), squares: 0, samples: 0, observations: [] }
      ofThread.byStack.set(stack, seen)
    }
    seen.weights[stateOf(state, this.#framesOf(stack))]! += weight
    seen.squares += weight ** 2
    seen.samples++
    if (seen.observations.at(-1) !== ofThread.observation) seen.observations.push(ofThread.observation)
    this.#samples++
  }

  #withoutOurs(given: number): number {
    let stack = given
    while (stack > 0 && OURS.test(this.frames[this.frameOf[stack]!]?.className ?? ''))
      stack = this.parents[stack]!
    return stack
  }

  /** The returned function must be called with 0, 1, 2 …, in order. */
  #framesOf(stack: number): (at: number) => FrameName | undefined {
    let below = stack
    let next = 0
    return (at) => {
      for (; next < at; next++) below = this.parents[below] ?? 0
      return below === 0 ? undefined : this.frames[this.frameOf[below]!]
    }
  }

  /** Yields the samples per stack, of one thread or of all threads. With all threads, a stack is yielded once per thread. */
  *seen(thread?: number): Generator<readonly [stack: number, seen: Seen]> {
    if (thread !== undefined) {
      yield* this.#byThread.get(thread)?.byStack ?? []
      return
    }
    for (const { byStack } of this.#byThread.values()) yield* byStack
  }
}
