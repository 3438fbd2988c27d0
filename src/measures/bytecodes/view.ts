// Live view texts of mode `bytecodes`.

import type { MeasureView } from '../views.ts'

export const bytecodes: MeasureView = {
  help: [
    'bc: executed bytecodes; total includes callees, self does not. A call is added when it ends; a long loop adds its',
    'bytecodes once per million.',
  ],
}
