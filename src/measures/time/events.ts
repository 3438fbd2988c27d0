// Each call tells when it begins and ends.

import type { Events } from '../events.ts'

export const time: Events = {
  ...{ tellsTime: true, rootCallsIn: 'ns', recordsCalls: true, keepsTrees: false, tellsWaits: false },
  ...{ isForAdaptive: true, stacksWillDo: true },
}
