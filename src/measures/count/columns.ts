// Calls, of which each is one.

import type { Metric } from '../columns.ts'

export const count: Metric = {
  ...{ kind: 'calls', self: 'calls', total: 'totalCalls', word: 'calls' },
  ...{ isTime: false, isShare: false, hasClasses: false, hasDoubt: false, isOfMethods: true },
}
