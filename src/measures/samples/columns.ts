// Columns of mode `sample`: the number of samples. The calls of a node are a lower bound: the calls that samples showed to be new (Whaley's
// edge weights).

import type { Metric } from '../columns.ts'

const columns = { self: 'selfSamples', total: 'totalSamples', unit: 'count' } as const

export const samples: Metric = {
  ...{ kind: 'samples', ...columns, word: 'samples', sign: '%' },
  // The cost per call is unknown.
  heads: {
    ...{ total: 'samples', self: 'self smp', perCall: 'smp/seen', calls: 'seen', by: 'self samples' },
  },
  pageHeads: { total: 'samples', self: 'own' },
  values: [{ type: 'samples', event: 'Samples', ...columns }],
  ...{ isTime: false, isSampled: true, hasClasses: false, sumsUp: true, hasErrorBound: false },
}
