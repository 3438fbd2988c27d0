// An exit brings along what was executed.

import type { Events } from '../events.ts'

export const bytecodes: Events = {
  ...{ tellsTime: false, timesRoots: true, recordsCalls: true, keepsTrees: true, tellsWaits: false },
  ...{ isForAdaptive: false, stacksWillDo: false },
}
