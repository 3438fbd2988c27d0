// Executed instructions.

import type { Metric } from '../columns.ts'

export const bytecodes: Metric = {
  ...{ kind: 'bytecodes', self: 'selfBytecodes', total: 'totalBytecodes', word: 'bytecodes' },
  ...{ isTime: false, isShare: false, hasClasses: false, hasDoubt: false, isOfMethods: true },
}
