// Calibrated nanoseconds.

import type { Metric } from '../columns.ts'

export const time: Metric = {
  ...{ kind: 'time', self: 'selfNs', total: 'totalNs', word: 'time' },
  ...{ isTime: true, isShare: false, hasClasses: false, hasDoubt: true, isOfMethods: true },
}
