// How often a thread was found there.

import type { Metric } from '../columns.ts'

export const samples: Metric = {
  ...{ kind: 'samples', self: 'selfSamples', total: 'totalSamples', word: 'samples' },
  ...{ isTime: false, isShare: true, hasClasses: false, hasDoubt: false, isOfMethods: false },
}
