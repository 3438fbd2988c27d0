// Stores the stacks of threads inside roots, from the agent's sampler, as a tree of frames with the samples at each node. A frame of the
// agent is a method and a line. Here a frame is a method, and stacks that differ only in lines are one stack; the lines are counted
// separately.

import type { FrameName } from '../base/frame-name.ts'
import type { SampleBatch, StackSample } from '../base/stack-sample.ts'
import { LineSamples, type LineTable, type MethodLines } from './line-samples.ts'
import { STATES, stateOf } from './sample-states.ts'
import { KeptSamples, type SampleTimes } from './sample-times.ts'
import type { CallSpan } from './slow-times.ts'

/** Samples with the same stack on the same thread. */
export interface Seen {
  /** Nanoseconds that the samples represent, per thread state. */
  readonly weights: Float64Array
  /** Sum of the squared weights of the samples. */
  squares: number
  samples: number
  /** Numbers of the root calls that were sampled. All samples of one call count as one observation. */
  readonly observations: number[]
}

interface SeenOfThread {
  readonly byStack: Map<number, Seen>
  /** Latest sampled root call of a thread; `observation` is the number of this call. */
  lastCall: number
  observation: number
}

/** Number that is used for all virtual threads instead of their thread numbers. */
const VIRTUAL = 0

/** Maximum number of frames (InsideSampler.MAX_FRAMES). */
const MAX_FRAMES = 1 << 16

function keyOf(className: string, method: string): string {
  return `${className}.${method}`
}

/** Matches frames of the jfluid runtime, which are innermost while a probe runs. */
const OURS = /^java\.lang\.(?:invoke\.)?JFluid1/

export class InsideSamples {
  readonly frames: FrameName[]
  /** For each stack: the stack without the innermost frame. Stack 0 is the empty stack. */
  readonly parents: number[]
  /** Innermost frame of each stack. */
  readonly frameOf: number[]
  /** Number of frames of each stack. */
  readonly depths: number[]
  /** Frames, keyed by class and method. */
  readonly #frameIds = new Map<string, number>()
  /** Stacks, keyed by the caller's stack and the innermost frame. */
  readonly #stackIds = new Map<number, number>()
  /** Frames and stacks as sent by the agent. Its frames have lines. `stack`: the number of the same stack without lines. */
  readonly #sentFrames: { readonly frame: number; readonly line: number }[] = []
  readonly #sentStacks: { readonly parent: number; readonly frame: number; readonly stack: number }[] = [
    { parent: 0, frame: -1, stack: 0 },
  ]
  readonly #lines = new LineSamples()
  #byThread = new Map<number, SeenOfThread>()
  /** Observation numbers of virtual threads (which share one thread number), keyed by root call. */
  #virtual = new Map<number, number>()
  #samples = 0
  #observations = 0
  /** @param shared  samples whose frames and stacks are used; without it, the object has its own */
  constructor(shared?: InsideSamples) {
    this.frames = shared?.frames ?? []
    this.parents = shared?.parents ?? [0]
    this.frameOf = shared?.frameOf ?? [-1]
    this.depths = shared?.depths ?? [0]
  }

  /** Returns the samples that were taken within one of the spans. They share the stacks of this object. */
  within(spans: readonly CallSpan[]): InsideSamples {
    const found = new InsideSamples(this)
    for (const it of this.#kept.within(spans)) found.#count(it, stateOf(it.state, this.#framesOf(it.stack)))
    return found
  }

  /** Samples since the start of the recording, also from before `reset`. */
  readonly #kept = new KeptSamples()

  /** Number of samples since the last reset. */
  get count(): number {
    return this.#samples
  }

  /** Number of sampled root calls. */
  get calls(): number {
    return this.#observations
  }

  /**
   * @param fromTicks      start of the recording; earlier samples belong to the recording before a reset, and are ignored
   * @param rowsFromTicks  start of the current rows; earlier samples are only kept with their times
   */
  add(batch: SampleBatch, fromTicks = Number.NEGATIVE_INFINITY, rowsFromTicks = fromTicks): void {
    for (const { className, method, line } of batch.frames)
      this.#sentFrames.push({ frame: this.#frame({ className, method }), line })
    const { stacks } = batch
    for (let at = 0; at + 1 < stacks.length; at += 2) {
      const [parent, frame] = [stacks[at]!, stacks[at + 1]!]
      const above = this.#sentStacks[parent]?.stack ?? 0
      this.#sentStacks.push({
        parent,
        frame,
        stack: this.#stack(above, this.#sentFrames[frame]?.frame ?? -1),
      })
    }
    for (const it of batch.samples) if (it.ticks >= fromTicks) this.#take(it, it.ticks >= rowsFromTicks)
  }

  #frame(name: FrameName): number {
    const key = keyOf(name.className, name.method)
    const known = this.#frameIds.get(key)
    if (known !== undefined) return known
    const id = this.frames.push(name) - 1
    this.#frameIds.set(key, id)
    return id
  }

  #stack(parent: number, frame: number): number {
    const key = parent * MAX_FRAMES + frame
    const known = this.#stackIds.get(key)
    if (known !== undefined) return known
    const id = this.parents.push(parent) - 1
    this.depths.push(this.depths[parent]! + 1)
    this.frameOf.push(frame)
    this.#stackIds.set(key, id)
    return id
  }

  /** Discards the samples with their times. Call `reset` for the other samples. */
  resetTimes(): void {
    this.#kept.clear()
  }

  /** Returns all samples with their times, also from before `reset`. @param msOf  converts ticks to ms since the start of the recording */
  times(msOf: (ticks: number) => number): SampleTimes {
    const stacks = new Int32Array(2 * (this.parents.length - 1))
    for (let stack = 1; stack < this.parents.length; stack++) {
      stacks[2 * stack - 2] = this.parents[stack]!
      stacks[2 * stack - 1] = this.frameOf[stack]!
    }
    return { frames: this.frames, stacks, ...this.#kept.times(msOf) }
  }

  /** Discards all samples except those with their times; stacks keep their numbers. */
  reset(): void {
    this.#lines.reset()
    this.#byThread = new Map()
    this.#virtual = new Map()
    this.#samples = this.#observations = 0
  }

  #take(sample: StackSample, isOfRows: boolean): void {
    const sent = this.#withoutOurs(sample.stack)
    const stack = this.#sentStacks[sent]?.stack ?? 0
    if (stack === 0) return
    const taken = { ...sample, stack }
    this.#kept.add(taken)
    if (!isOfRows) return
    this.#addLines(sent, sample.weight)
    this.#count(taken, stateOf(taken.state, this.#framesOf(stack)))
  }

  /** @param state  index of STATES */
  #count({ thread, stack, call, weight }: StackSample, state: number): void {
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
    seen.weights[state]! += weight
    seen.squares += weight ** 2
    seen.samples++
    if (seen.observations.at(-1) !== ofThread.observation) seen.observations.push(ofThread.observation)
    this.#samples++
  }

  #nameOf(sent: number): FrameName | undefined {
    const { frame } = this.#sentFrames[this.#sentStacks[sent]?.frame ?? -1] ?? { frame: -1 }
    return this.frames[frame]
  }

  #withoutOurs(given: number): number {
    let sent = given
    while (sent > 0 && OURS.test(this.#nameOf(sent)?.className ?? '')) sent = this.#sentStacks[sent]!.parent
    return sent
  }

  #addLines(innermost: number, weight: number): void {
    const path: number[] = []
    const lines: number[] = []
    for (let sent = innermost; sent > 0; ) {
      const { parent, frame } = this.#sentStacks[sent]!
      path.push(this.#sentFrames[frame]!.frame)
      lines.push(this.#sentFrames[frame]!.line)
      sent = parent
    }
    this.#lines.add(path.reverse(), lines.reverse(), weight)
  }

  /** Returns the samples per line of all methods with this name; undefined if no sample contains such a method. */
  linesOf(className: string, method: string): MethodLines | undefined {
    const frame = this.#frameIds.get(keyOf(className, method))
    return frame === undefined ? undefined : this.#lines.of(frame)
  }

  /** Returns the samples per line of all methods. @param idsOf  returns the ids of the methods with a name */
  lineTable(idsOf: (name: FrameName) => readonly number[]): LineTable {
    return this.#lines.table((frame) => idsOf(this.frames[frame]!))
  }

  /** Returns a function that maps 0, 1, 2 … to the frames, innermost first. It must be called with increasing arguments. */
  #framesOf(stack: number): (at: number) => FrameName | undefined {
    let below = stack
    let next = 0
    return (at) => {
      for (; next < at; next++) below = this.parents[below] ?? 0
      return below === 0 ? undefined : this.frames[this.frameOf[below]!]
    }
  }

  /** Yields the samples per stack, for one thread or for all threads. For all threads, a stack is yielded once per thread. */
  *seen(thread?: number): Generator<readonly [stack: number, seen: Seen]> {
    if (thread !== undefined) {
      yield* this.#byThread.get(thread)?.byStack ?? []
      return
    }
    for (const { byStack } of this.#byThread.values()) yield* byStack
  }
}

/** Returns the samples from `fromMs` (inclusive) to `toMs` (exclusive). */
export function samplesBetween(times: SampleTimes, fromMs: number, toMs: number): InsideSamples {
  const { frames, stacks, thread, stack, state, call, ms, weight } = times
  const samples: StackSample[] = []
  for (let i = 0; i < ms.length; i++) {
    if (ms[i]! < fromMs || ms[i]! >= toMs) continue
    samples.push({
      ...{ thread: thread[i]!, number: thread[i]!, stack: stack[i]!, state: state[i]!, call: call[i]! },
      ...{ ticks: ms[i]!, weight: weight[i]! },
    })
  }
  const found = new InsideSamples()
  found.add({ frames: frames.map((it) => ({ ...it, line: 0 })), stacks, samples })
  return found
}
