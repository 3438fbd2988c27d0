// The columns of cost that trees of each measure have besides calls: their own and their subtree's. A tree is known by them.

import { allocation } from './allocation/columns.ts'
import { bytecodes } from './bytecodes/columns.ts'
import { count } from './count/columns.ts'
import { locks } from './locks/columns.ts'
import { samples } from './samples/columns.ts'
import { time } from './time/columns.ts'

/**
 * `time`: compensated nanoseconds, may be negative. `bytecodes`: instructions executed. `calls`: nothing but
 * invocations, so that a subtree's cost is how many calls there were in it. `samples`: how often a thread was found there;
 * its calls are those that were seen to be new, a lower bound (Whaley's edge weights).
 * `waits`: nanoseconds that were spent blocked or waiting, which are those of rows of their own. `bytes`: what is
 * allocated. There, a node may stand for a class, below the method that allocates: its calls are objects, and its method's
 * own cost is what such nodes below it have (cct/allocation.ts).
 */
export type CostKind = 'time' | 'bytecodes' | 'calls' | 'samples' | 'waits' | 'bytes'

export interface Metric {
  readonly kind: CostKind
  /** Names of the columns. */
  readonly self: string
  readonly total: string
  /** What it is called in a line of text. */
  readonly word: string
  /** Nanoseconds. */
  readonly isTime: boolean
  /** Says something as a part of all, and not per root call. */
  readonly isShare: boolean
  /** A node may stand for a class; what a method costs itself is that of such nodes below it. */
  readonly hasClasses: boolean
  /** Calibrated: numbers may be wrong by what a probe is. */
  readonly hasDoubt: boolean
  /** What a method costs itself is a sum of what its contexts cost: else it is of rows below them, which stay. */
  readonly isOfMethods: boolean
}

export const METRICS: Readonly<Record<CostKind, Metric>> = {
  // Before time: trees of waits have its columns, too.
  waits: locks,
  ...{ time, bytecodes, samples },
  calls: count,
  bytes: allocation,
}
