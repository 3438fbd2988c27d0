// Columns of mode `count`: each call costs 1. The cost of a subtree is the number of calls in it, including the calls of its top node.

import type { Metric } from '../columns.ts'

const columns = { self: 'calls', total: 'totalCalls', unit: 'count' } as const

export const count: Metric = {
  kind: 'calls',
  ...columns,
  word: 'calls',
  sign: 'calls',
  heads: { total: 'subtree', self: 'own', perCall: 'per call', calls: 'calls', by: 'calls' },
  pageHeads: { total: 'subtree', self: 'own' },
  values: [{ type: 'calls', ...columns }],
  sumsUp: true,
}
