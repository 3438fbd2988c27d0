// Columns of mode `sample`: the number of samples. The number of calls of a node is a lower bound: it contains only calls that a sample
// showed to be new (Whaley's edge weights).

import type { Metric } from '../columns.ts'

const columns = { self: 'selfSamples', total: 'totalSamples', unit: 'count' } as const

export const samples: Metric = {
  kind: 'samples',
  ...columns,
  word: 'samples',
  sign: '%',
  // The number of calls is only a lower bound, so the header is `smp/seen`, not "per call".
  heads: {
    total: 'samples',
    self: 'self smp',
    perCall: 'smp/seen',
    calls: 'seen',
    by: 'self samples',
  },
  pageHeads: { total: 'samples', self: 'own' },
  values: [{ type: 'samples', ...columns }],
  isSampled: true,
  sumsUp: true,
}
