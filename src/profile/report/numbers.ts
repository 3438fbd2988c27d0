// Columns that the tree and the list of hot methods share.

import { COUNTED, FOLDED, type Fold } from '../../cct/folds.ts'
import { count } from '../text.ts'

/** Cells before the name. */
export const NUMBER_CELLS = 50

/** Behind the name of a method that was not timed at the end: profiles of earlier versions. */
export const FOLD_MARKS: Readonly<Record<number, string>> = {
  [FOLDED]: ' (folded)',
  [COUNTED]: ' (counted)',
}

/** With those that were not timed, if there are any. */
export function callsText(timed: number, fold: Fold | undefined): string {
  const calls = timed + (fold?.counted ?? 0)
  const extra = fold?.extra ?? 0
  return Math.round(extra) === 0 ? count(calls, 10) : `~${count(Math.round(calls + extra), 9)}`
}
