// Allocated bytes.

import type { Metric } from '../columns.ts'

export const allocation: Metric = {
  ...{ kind: 'bytes', self: 'bytes', total: 'totalBytes', word: 'bytes' },
  ...{ isTime: false, isShare: false, hasClasses: true, hasDoubt: false, isOfMethods: false },
}
