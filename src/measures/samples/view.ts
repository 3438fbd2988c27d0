// Live view texts of mode `sample`.

import type { MeasureView } from '../views.ts'

export const samples: MeasureView = {
  help: [
    'smp: samples; total includes callees, self does not. seen: calls that appear in a sample and not in the previous',
    'sample of the thread, a lower bound of the calls.',
  ],
}
