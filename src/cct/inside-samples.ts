// Stacks of threads inside roots, as the agent's sampler has taken them: a tree of frames, and what was seen at each of its nodes.

import type { FrameName } from '../base/frame-name.ts'
import type { SampleBatch, StackSample } from '../base/stack-sample.ts'
import { STATES, stateOf } from './sample-states.ts'

/** What was seen with one stack of one thread. */
export interface Seen {
  /** Nanoseconds that its samples stand for, by state. */
  readonly weights: Float64Array
  /** Of each sample's weight, all together. */
  squares: number
  samples: number
  /** Numbers of the calls of roots in which it was seen: all samples of a call are one observation. */
  readonly observations: number[]
}

interface SeenOfThread {
  readonly byStack: Map<number, Seen>
  /** Its latest call of a root that was seen, and the number of that. */
  lastCall: number
  observation: number
}

/** In place of the numbers of virtual threads. */
const VIRTUAL = 0

/** Frames of our own runtime, which are on top where a probe was at work. */
const OURS = /^java\.lang\.(?:invoke\.)?JFluid1/

export class InsideSamples {
  readonly frames: FrameName[] = []
  /** By stack: the one above, 0 for none. Stack 0 is none. */
  readonly parents: number[] = [0]
  /** By stack: its innermost frame. */
  readonly frameOf: number[] = [-1]
  /** By stack: its frames. */
  readonly depths: number[] = [0]
  #byThread = new Map<number, SeenOfThread>()
  /** Of virtual threads, which have one number: observations by their calls. */
  #virtual = new Map<number, number>()
  #samples = 0
  #observations = 0

  /** Samples since the last reset. */
  get count(): number {
    return this.#samples
  }

  /** Calls of roots in which there were samples. */
  get calls(): number {
    return this.#observations
  }

  /** @param fromTicks  samples before that are left out: they are of a recording that was reset */
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

  /** What was seen is forgotten; stacks keep their numbers. */
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

  /** Asked from 0 on, one after the other. */
  #framesOf(stack: number): (at: number) => FrameName | undefined {
    let below = stack
    let next = 0
    return (at) => {
      for (; next < at; next++) below = this.parents[below] ?? 0
      return below === 0 ? undefined : this.frames[this.frameOf[below]!]
    }
  }

  /** By stack, of one thread or of each: a stack comes once for each thread. */
  *seen(thread?: number): Generator<readonly [stack: number, seen: Seen]> {
    if (thread !== undefined) {
      yield* this.#byThread.get(thread)?.byStack ?? []
      return
    }
    for (const { byStack } of this.#byThread.values()) yield* byStack
  }
}
