// Stacks of threads inside roots, as the agent sends them.

import type { FrameName } from './frame-name.ts'

/** New frames, new stacks, and samples. A sample refers to a stack of this batch or of an earlier batch. */
export interface SampleBatch {
  /** New frames. Each frame is sent once in a session. Frames are numbered from 0. */
  readonly frames: readonly SampledFrame[]
  /** New stacks, numbered from 1. Each stack is two numbers: the number of its parent stack (0 for none), and of its innermost frame. */
  readonly stacks: Int32Array
  readonly samples: readonly StackSample[]
}

/** A method and the line that it executes; line 0 if unknown. */
export interface SampledFrame extends FrameName {
  readonly line: number
}

export interface StackSample {
  /** Number of the thread's tree: that of the thread, or 0 for all virtual threads. */
  readonly thread: number
  /** Number that identifies the thread in the session. */
  readonly number: number
  readonly stack: number
  /** Ordinal of Thread.State. */
  readonly state: number
  /** Number of the root call that the thread is in. */
  readonly call: number
  readonly ticks: number
  /** Time that the sample represents, ns. */
  readonly weight: number
}

/** Method name of the frame for a row of --by: this prefix, then the id of the row. The frame has no class. */
const VALUE_ROW = 'by#'

/** Returns the id of the row of --by for which a frame stands; null for a frame of a method. */
export function valueRowOf(className: string, method: string): number | null {
  return className === '' && method.startsWith(VALUE_ROW) ? Number(method.slice(VALUE_ROW.length)) : null
}
