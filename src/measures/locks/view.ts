// Live view texts of mode `locks`.

import type { MeasureView } from '../views.ts'

export const locks: MeasureView = {
  heads: { total: 'wait', self: 'own' },
  help: [
    'wait is the time that threads were blocked or waited in a context and below it; rows in parentheses are the',
    'waits, each below the method that waited. % is of all waiting. m lists what was waited for.',
  ],
}
