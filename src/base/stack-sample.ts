// Stacks of threads inside roots, as the agent sends them.

import type { FrameName } from './frame-name.ts'

/** New frames, new stacks, and samples that refer to the known stacks. */
export interface SampleBatch {
  /** New frames. Frames are sent once and numbered from 0. */
  readonly frames: readonly FrameName[]
  /** New stacks, numbered from 1: for each the number of its parent stack (0 for none) and its innermost frame. */
  readonly stacks: Int32Array
  readonly samples: readonly StackSample[]
}

export interface StackSample {
  /** Number of the thread in the session. */
  readonly thread: number
  readonly stack: number
  /** Ordinal of Thread.State. */
  readonly state: number
  /** Number of the thread's current root call. */
  readonly call: number
  readonly ticks: number
  /** Nanoseconds that the sample represents. */
  readonly weight: number
}
