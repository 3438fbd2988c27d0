// Cost columns in the trees of each measure, besides calls: self and total cost, and their texts. The columns identify the measure of a
// tree. This file contains data only, and all layers read it.

import { allocation } from './allocation/columns.ts'
import { bytecodes } from './bytecodes/columns.ts'
import { count } from './count/columns.ts'
import { locks } from './locks/columns.ts'
import { samples } from './samples/columns.ts'
import { time } from './time/columns.ts'

export type Unit = 'nanoseconds' | 'bytes' | 'count'

export interface Metric {
  /** Name of the metric in files. */
  readonly kind: string
  /** Names of the columns. */
  readonly self: string
  readonly total: string
  /** Name in a line of text. */
  readonly word: string
  readonly unit: Unit
  /** Unit after a number in text reports. */
  readonly sign: string
  readonly heads: Heads
  /** Column headers of an HTML page, where numbers have units. */
  readonly pageHeads: { readonly total: string; readonly self: string }
  /** Values as named by other tools, the main value first. */
  readonly values: readonly Value[]
  /** Costs are times, so the cost of probes is subtracted. */
  readonly isTime: boolean
  /**
   * Trees consist of sampled stacks: the number of calls is a lower bound, and numbers are meaningful as a share of all samples, not per
   * root call.
   */
  readonly isSampled: boolean
  /** A node may stand for a class. A method's self cost is then the sum of the class nodes below it. */
  readonly hasClasses: boolean
  /** A context's total is the sum of the self costs below it. Otherwise, rows below a method have separate costs. */
  readonly sumsUp: boolean
  /** Numbers depend on the calibration, and have its error. */
  readonly hasErrorBound: boolean
}

/** Column headers of a table. */
export interface Heads {
  /** Header of the total column. Each header has at most eight cells: the ninth cell is for the mark of the sort column. */
  readonly total: string
  readonly self: string
  readonly perCall: string
  /** Name of the calls of this measure. */
  readonly calls: string
  /** Name of the sort order of hot methods. */
  readonly by: string
}

/** A kind of value in a profile. */
export interface Value {
  /** Name for `pprof -sample_index=<type>`. */
  readonly type: string
  /** Event name for Callgrind: one word. */
  readonly event: string
  readonly unit: Unit
  /** Columns of the tree. */
  readonly self: string
  readonly total: string
  /** Set if only rows of allocated classes have self values. */
  readonly ofClasses?: true
}

export const METRICS = {
  exact: time,
  ...{ locks, bytecodes, count },
  alloc: allocation,
  sample: samples,
}

/** Values of `--mode`. */
export type Mode = keyof typeof METRICS

export const MODES = Object.keys(METRICS) as readonly Mode[]
