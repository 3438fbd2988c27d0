// Columns of mode `alloc`: allocated bytes. In the tree, a class node is a child of the method that allocates objects of the class. The
// number of calls of a class node is the number of objects. The method's self cost is the sum of its class nodes (cct/allocation.ts).

import type { Metric } from '../columns.ts'

const columns = { self: 'bytes', total: 'totalBytes', unit: 'bytes' } as const

export const allocation: Metric = {
  kind: 'bytes',
  ...columns,
  word: 'bytes',
  sign: 'B',
  // Header of `perCall`: bytes per object in class rows, and bytes per call in method rows.
  heads: {
    total: 'total B',
    self: 'self B',
    perCall: 'B/call',
    calls: 'calls',
    by: 'self bytes',
  },
  pageHeads: { total: 'total', self: 'self' },
  values: [
    { type: 'alloc_space', ...columns, ofClasses: true },
    {
      type: 'alloc_objects',
      unit: 'count',
      self: 'objects',
      total: 'totalObjects',
      ofClasses: true,
    },
  ],
  hasClasses: true,
}
