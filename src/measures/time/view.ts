// Live view texts of mode `time`.

import type { MeasureView } from '../views.ts'

export const time: MeasureView = {
  heads: { total: 'total', self: 'self' },
  help: [
    'total is with callees, self without; the cost of measuring is taken out of both.',
    '~0 is less than that correction can tell.',
  ],
}
