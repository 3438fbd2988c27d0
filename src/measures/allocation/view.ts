// Live view texts of mode `alloc`.

import type { MeasureView } from '../views.ts'

export const allocation: MeasureView = {
  help: [
    'B: bytes of objects, total with callees, self of the method itself; below it a row for each class it makes, whose',
    'calls are objects and whose B/call is the size of one.',
  ],
}
