// Columns of mode `bytecodes`: number of executed bytecode instructions.

import type { Metric } from '../columns.ts'

const columns = { self: 'selfBytecodes', total: 'totalBytecodes', unit: 'count' } as const

export const bytecodes: Metric = {
  kind: 'bytecodes',
  ...columns,
  word: 'bytecodes',
  sign: 'bc',
  heads: {
    total: 'total bc',
    self: 'self bc',
    perCall: 'bc/call',
    calls: 'calls',
    by: 'self bytecodes',
  },
  pageHeads: { total: 'total', self: 'self' },
  values: [{ type: 'bytecodes', ...columns }],
  sumsUp: true,
}
