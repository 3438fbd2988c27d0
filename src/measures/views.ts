// Live view texts of all measures.

import { allocation } from './allocation/view.ts'
import { bytecodes } from './bytecodes/view.ts'
import type { Heads, Mode } from './columns.ts'
import { count } from './count/view.ts'
import { locks } from './locks/view.ts'
import { samples } from './samples/view.ts'
import { time } from './time/view.ts'

export interface MeasureView {
  /** Lines of the help page that explain the columns. */
  readonly help: readonly string[]
  /** Column headers, if numbers have units. */
  readonly heads?: Pick<Heads, 'total' | 'self'>
}

export const VIEWS: Readonly<Record<Mode, MeasureView>> = {
  exact: time,
  ...{ locks, bytecodes, count },
  alloc: allocation,
  sample: samples,
}
