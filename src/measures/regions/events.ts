// Events of regions: each event reports the duration of one execution of a region (`src/regions`). Calls are not reported.

import type { Events } from '../events.ts'
import { time } from '../time/events.ts'

export const regions: Events = {
  ...time,
  tellsTime: false,
  rootCallsIn: null,
  recordsCalls: false,
}
