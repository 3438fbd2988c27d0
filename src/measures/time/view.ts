// Live view texts of mode `time`.

import type { MeasureView } from '../views.ts'

export const time: MeasureView = {
  heads: { total: 'total', self: 'self' },
  help: [
    'total includes callees, self does not; the cost of the probes is subtracted from both.',
    '~0: too small to measure after this correction.',
  ],
}
