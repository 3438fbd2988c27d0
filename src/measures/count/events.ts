// Calls alone.

import type { Events } from '../events.ts'

export const count: Events = {
  ...{ tellsTime: false, timesRoots: false, recordsCalls: true, keepsTrees: true, tellsWaits: false },
  ...{ isForAdaptive: false, stacksWillDo: false },
}
