// Texts of the live view for each measure.

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
  /** Column headers for numbers that are shown with units. */
  readonly heads?: Pick<Heads, 'total' | 'self'>
}

export const VIEWS: Readonly<Record<Mode, MeasureView>> = {
  exact: time,
  locks,
  bytecodes,
  count,
  alloc: allocation,
  sample: samples,
}
