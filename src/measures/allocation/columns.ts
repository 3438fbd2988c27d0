// Allocated bytes. A node may stand for a class, below the method that allocates: its calls are objects, and its method's own cost is
// what such nodes below it have (cct/allocation.ts).

import type { Metric } from '../columns.ts'

const columns = { self: 'bytes', total: 'totalBytes', unit: 'bytes' } as const

export const allocation: Metric = {
  ...{ kind: 'bytes', ...columns, word: 'bytes', sign: 'B' },
  // Of a class: bytes of an object; of a method: of a call.
  heads: {
    ...{ total: 'total B', self: 'self B', perCall: 'B/call', calls: 'calls', by: 'bytes of their own' },
  },
  pageHeads: { total: 'total', self: 'self' },
  values: [
    { type: 'alloc_space', event: 'Bytes', ...columns, ofClasses: true },
    {
      ...{ type: 'alloc_objects', event: 'Objects', unit: 'count', self: 'objects', total: 'totalObjects' },
      ofClasses: true,
    },
  ],
  ...{ isTime: false, isSampled: false, hasClasses: true, sumsUp: false, hasDoubt: false },
}
