// How each metric is written: heads of columns and numbers.

import { type CostKind, METRICS } from '../measures/columns.ts'
import { count, ms, msPerCall, shortCount } from './text.ts'

export interface CostWords {
  /** At most eight cells each: of nine, one is for the mark of what is sorted by. */
  readonly total: string
  readonly self: string
  readonly perCall: string
  /** What its calls are called. */
  readonly calls: string
  /** What hot methods are sorted by. */
  readonly by: string
  /** At most `width` cells. */
  cost(value: number, width?: number): string
  each(total: number, calls: number): string
}

/** Four digits that count, at most eight cells: a call's share of bytecodes or calls need not be whole. */
function countPerCall(total: number, calls: number): string {
  if (calls === 0 || !Number.isFinite(total)) return '-'
  const each = total / calls
  if (Number.isInteger(each) || each >= 1000) return count(each, 8)
  return each >= 100 ? each.toFixed(1) : each >= 10 ? each.toFixed(2) : each.toFixed(3)
}

const counted = { cost: (value: number, width = 9) => count(value, width), each: countPerCall }

export const COST_WORDS: Readonly<Record<CostKind, CostWords>> = {
  time: {
    ...{ total: 'total ms', self: 'self ms', perCall: 'ms/call', calls: 'calls', by: 'self time' },
    ...{ cost: ms, each: msPerCall },
  },
  waits: {
    ...{ total: 'wait ms', self: 'own ms', perCall: 'ms/call', calls: 'calls', by: 'time' },
    ...{ cost: ms, each: msPerCall },
  },
  // bc: bytecodes
  bytecodes: {
    total: 'total bc',
    self: 'self bc',
    perCall: 'bc/call',
    calls: 'calls',
    by: 'bytecodes of their own',
    ...counted,
  },
  // Calls are those that were seen: what a call costs is not known.
  samples: {
    ...{
      total: 'samples',
      self: 'self smp',
      perCall: 'smp/seen',
      calls: 'seen',
      by: 'samples of their own',
    },
    ...counted,
  },
  // A subtree's calls include its own top.
  calls: { total: 'subtree', self: 'own', perCall: 'per call', calls: 'calls', by: 'calls', ...counted },
  // Of a class: bytes of an object; of a method: of a call.
  bytes: {
    ...{ total: 'total B', self: 'self B', perCall: 'B/call', calls: 'calls', by: 'bytes of their own' },
    ...counted,
  },
}

/** A cost with its unit, for a line of text. */
export function costPhrase(kind: CostKind, value: number): string {
  if (METRICS[kind].isTime) return `${ms(value)} ms`
  return `${shortCount(value)} ${kind}`
}
