// Events of regions: each reports the duration of one execution. Calls are not reported (`src/regions`).

import type { Events } from '../events.ts'
import { time } from '../time/events.ts'

export const regions: Events = {
  ...time,
  ...{ tellsTime: false, rootCallsIn: null, recordsCalls: false },
}
