// How often a thread was found there. Its calls are those that were seen to be new, a lower bound (Whaley's edge weights).

import type { Metric } from '../columns.ts'

const columns = { self: 'selfSamples', total: 'totalSamples', unit: 'count' } as const

export const samples: Metric = {
  ...{ kind: 'samples', ...columns, word: 'samples', sign: '%' },
  // What a call costs is not known.
  heads: {
    ...{ total: 'samples', self: 'self smp', perCall: 'smp/seen', calls: 'seen', by: 'samples of their own' },
  },
  pageHeads: { total: 'samples', self: 'own' },
  values: [{ type: 'samples', event: 'Samples', ...columns }],
  ...{ isTime: false, isSampled: true, hasClasses: false, sumsUp: true, hasDoubt: false },
}
