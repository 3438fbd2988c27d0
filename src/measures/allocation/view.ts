// Live view texts of mode `alloc`.

import type { MeasureView } from '../views.ts'

export const allocation: MeasureView = {
  help: [
    'B: bytes of allocated objects; total includes callees, self does not. Below a method, each allocated class has a row,',
    'where calls is the number of objects and B/call the size of one object. sampled: estimated for a method',
    'without probes, with its standard deviation (±). (not attributed): further bytes that the JVM has counted in the root.',
  ],
}
