// Columns of mode `alloc`: allocated bytes. A node may stand for a class, below the allocating method: its calls are objects. The method's
// self cost is the sum of its class nodes (cct/allocation.ts).

import type { Metric } from '../columns.ts'

const columns = { self: 'bytes', total: 'totalBytes', unit: 'bytes' } as const

export const allocation: Metric = {
  ...{ kind: 'bytes', ...columns, word: 'bytes', sign: 'B' },
  // Class rows: bytes per object; method rows: bytes per call.
  heads: {
    ...{ total: 'total B', self: 'self B', perCall: 'B/call', calls: 'calls', by: 'self bytes' },
  },
  pageHeads: { total: 'total', self: 'self' },
  values: [
    { type: 'alloc_space', event: 'Bytes', ...columns, ofClasses: true },
    {
      ...{ type: 'alloc_objects', event: 'Objects', unit: 'count', self: 'objects', total: 'totalObjects' },
      ofClasses: true,
    },
  ],
  ...{ isTime: false, isSampled: false, hasClasses: true, sumsUp: false, hasErrorBound: false },
}
