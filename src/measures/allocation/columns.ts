// Columns of mode `alloc`: allocated bytes. A class node is below the allocating method, and its number of calls is the number of objects.
// The method's self cost is the sum of its class nodes (cct/allocation.ts).

import type { Metric } from '../columns.ts'

const columns = { self: 'bytes', total: 'totalBytes', unit: 'bytes' } as const

export const allocation: Metric = {
  ...{ kind: 'bytes', ...columns, word: 'bytes', sign: 'B' },
  // `perCall` is bytes per object in class rows, and bytes per call in method rows.
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
