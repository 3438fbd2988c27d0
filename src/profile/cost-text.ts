// Text form of each metric: column headers and numbers.

import type { Heads, Metric } from '../measures/columns.ts'
import { count, timeCell } from './text.ts'

export interface CostWords extends Heads {
  /** Formats a cost in at most `width` cells. */
  cost(value: number, width?: number): string
  each(total: number, calls: number): string
}

/** Formats a count per call with four significant digits in at most eight cells. The average may be a fraction. */
function countPerCall(total: number, calls: number): string {
  if (calls === 0 || !Number.isFinite(total)) return '-'
  const each = total / calls
  if (Number.isInteger(each) || each >= 1000) return count(each, 8)
  return each >= 100 ? each.toFixed(1) : each >= 10 ? each.toFixed(2) : each.toFixed(3)
}

const timed = {
  cost: (ns: number) => timeCell(ns),
  each: (ns: number, calls: number) => timeCell(calls === 0 ? Number.NaN : ns / calls),
}
const counted = { cost: (value: number, width = 9) => count(value, width), each: countPerCall }

/** Returns the formatting of a metric's columns. */
export function wordsOf({ heads, isTime }: Metric): CostWords {
  return { ...heads, ...(isTime ? timed : counted) }
}
