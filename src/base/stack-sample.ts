// Stacks of threads inside roots, as the agent hands them over.

import type { FrameName } from './frame-name.ts'

/** New frames and stacks, and samples of stacks that are known by then. */
export interface SampleBatch {
  /** Each once, counted from 0. */
  readonly frames: readonly FrameName[]
  /** Of each new stack the one above it, 0 for none, and its innermost frame. Stacks count from 1. */
  readonly stacks: Int32Array
  readonly samples: readonly StackSample[]
}

export interface StackSample {
  /** Its number in the session. */
  readonly thread: number
  readonly stack: number
  /** Ordinal of Thread.State. */
  readonly state: number
  /** Which call of a root by this thread. */
  readonly call: number
  readonly ticks: number
  /** Nanoseconds that it stands for. */
  readonly weight: number
}
