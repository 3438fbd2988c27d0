// Events of mode `count`: calls only.

import type { Events } from '../events.ts'

export const count: Events = {
  ...{ tellsTime: false, rootCallsIn: null, recordsCalls: true, keepsTrees: true, tellsWaits: false },
  stacksWillDo: false,
}
