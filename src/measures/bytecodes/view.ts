// Live view texts of mode `bytecodes`.

import type { MeasureView } from '../views.ts'

export const bytecodes: MeasureView = {
  help: [
    'bc: bytecodes executed, total with callees, self without. A call brings its own along when it ends, a long loop',
    'every million.',
  ],
}
