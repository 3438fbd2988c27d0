// Cost columns of each measure in addition to `calls`: self and total cost, and their texts. The columns of a tree identify its measure.
// This file contains only data, and all layers read it.

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
  /** Name of the tree column with the self cost. */
  readonly self: string
  readonly total: string
  /** Name of the metric in sentences. */
  readonly word: string
  readonly unit: Unit
  /** Unit after a number in text reports. */
  readonly sign: string
  readonly heads: Heads
  /** Column headers of an HTML page, where numbers have units. */
  readonly pageHeads: { readonly total: string; readonly self: string }
  /** Values of an exported profile, with the names that other tools use. The main value is first. */
  readonly values: readonly Value[]
  /** True if costs are times, so the cost of probes is subtracted. */
  readonly isTime?: true
  /**
   * True if trees consist of sampled stacks. Then the number of calls is only a lower bound, and costs are shown as shares of all samples,
   * not per root call.
   */
  readonly isSampled?: true
  /** True if a tree contains class nodes. A method's self cost is the sum of the class nodes below the method. */
  readonly hasClasses?: true
  /** True if the total of a node is the sum of the self costs in its subtree. Absent if class rows or wait rows have separate costs. */
  readonly sumsUp?: true
  /** True if numbers depend on the calibration, and therefore have an error bound. */
  readonly hasErrorBound?: true
}

/** Column headers of a table. */
export interface Heads {
  /** Header of the total column. Each header has at most eight characters, since the ninth may be the mark of the sort column. */
  readonly total: string
  readonly self: string
  readonly perCall: string
  /** Header of the calls column. */
  readonly calls: string
  /** Name of the cost by which hot methods are sorted. */
  readonly by: string
}

/** A kind of value in a profile. */
export interface Value {
  /** Name for `pprof -sample_index=<type>`. */
  readonly type: string
  readonly unit: Unit
  /** Name of the tree column with the self values. */
  readonly self: string
  readonly total: string
  /** True if only class rows have self values. */
  readonly ofClasses?: true
}

export const METRICS = {
  exact: time,
  locks,
  bytecodes,
  count,
  alloc: allocation,
  sample: samples,
}

/** Value of `--mode`. */
export type Mode = keyof typeof METRICS

export const MODES = Object.keys(METRICS) as readonly Mode[]
