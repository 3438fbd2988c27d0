// Live view texts of mode `sample`.

import type { MeasureView } from '../views.ts'

export const samples: MeasureView = {
  help: [
    'smp: samples, total with callees, self without. seen: calls that one sample shows and the one before did not;',
    'there may have been more in between.',
  ],
}
