// The columns of cost that trees of each measure have besides calls: their own and their subtree's, and what they are called. A tree
// is known by them. It is data, and read by all.

import { allocation } from './allocation/columns.ts'
import { bytecodes } from './bytecodes/columns.ts'
import { count } from './count/columns.ts'
import { locks } from './locks/columns.ts'
import { samples } from './samples/columns.ts'
import { time } from './time/columns.ts'

export type Unit = 'nanoseconds' | 'bytes' | 'count'

export interface Metric {
  /** What files call it. */
  readonly kind: string
  /** Names of the columns. */
  readonly self: string
  readonly total: string
  /** What it is called in a line of text. */
  readonly word: string
  readonly unit: Unit
  /** What a number of it is followed by on a page of text. */
  readonly sign: string
  readonly heads: Heads
  /** The heads of a page of HTML, where numbers have units. */
  readonly pageHeads: { readonly total: string; readonly self: string }
  /** As other tools know it, its own first. */
  readonly values: readonly Value[]
  /** Of time, out of which the time of probes is taken. */
  readonly isTime: boolean
  /** Trees are of stacks: calls are those that were seen, and numbers say something as a part of all, not per root call. */
  readonly isSampled: boolean
  /** A node may stand for a class; what a method costs itself is that of such nodes below it. */
  readonly hasClasses: boolean
  /** A context's total is the sum of what the contexts below it cost themselves: else rows below a method have its own, too. */
  readonly sumsUp: boolean
  /** Calibrated: numbers may be wrong by what a probe is. */
  readonly hasDoubt: boolean
}

/** Heads of columns. */
export interface Heads {
  /** At most eight cells each: of nine, one is for the mark of what is sorted by. */
  readonly total: string
  readonly self: string
  readonly perCall: string
  /** What its calls are called. */
  readonly calls: string
  /** What hot methods are sorted by. */
  readonly by: string
}

/** A kind of value that a profile has. */
export interface Value {
  /** As `pprof -sample_index=<type>` takes it. */
  readonly type: string
  /** A word, as Callgrind takes it. */
  readonly event: string
  readonly unit: Unit
  /** Columns of the tree. */
  readonly self: string
  readonly total: string
  /** Only the rows of classes that are allocated have it by themselves. */
  readonly ofClasses?: true
}

export const METRICS = {
  exact: time,
  ...{ locks, bytecodes, count },
  alloc: allocation,
  sample: samples,
}

/** What `--mode` says. */
export type Mode = keyof typeof METRICS

export const MODES = Object.keys(METRICS) as readonly Mode[]
