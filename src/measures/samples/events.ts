// A sample is told when it is taken, and nothing of a call is owed to its end.

import type { Events } from '../events.ts'

export const samples: Events = {
  ...{ tellsTime: false, rootCallsIn: null, recordsCalls: false, keepsTrees: false, tellsWaits: false },
  ...{ isForAdaptive: false, stacksWillDo: false },
  fixedBecause: 'samples are taken of all that runs',
}
