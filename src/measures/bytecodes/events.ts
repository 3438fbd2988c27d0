// An exit brings along what was executed.

import type { Events } from '../events.ts'

export const bytecodes: Events = {
  ...{ tellsTime: false, rootCallsIn: 'bytecodes', recordsCalls: true, keepsTrees: true, tellsWaits: false },
  ...{ isForAdaptive: false, stacksWillDo: false },
}
