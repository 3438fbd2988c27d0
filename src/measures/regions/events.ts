// An execution of a region tells how long it was, and no call is told (`src/regions`).

import type { Events } from '../events.ts'
import { time } from '../time/events.ts'

export const regions: Events = {
  ...time,
  ...{ tellsTime: false, rootCallsIn: null, recordsCalls: false, isForAdaptive: false },
}
