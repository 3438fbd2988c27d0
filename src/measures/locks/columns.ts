// Nanoseconds of rows of waiting.

import type { Metric } from '../columns.ts'

export const locks: Metric = {
  ...{ kind: 'waits', self: 'selfWaitNs', total: 'totalWaitNs', word: 'waiting' },
  ...{ isTime: true, isShare: false, hasClasses: false, hasDoubt: false, isOfMethods: false },
}
