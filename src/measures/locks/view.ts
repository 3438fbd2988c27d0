// Live view texts of mode `locks`.

import type { MeasureView } from '../views.ts'

export const locks: MeasureView = {
  heads: { total: 'wait', self: 'own' },
  help: [
    'wait: time that threads were blocked or waiting in a context and below it. Rows in parentheses are the waits, each',
    'below the method that waited. %: share of all waiting time. m lists locks and other reasons of waiting.',
  ],
}
