// Events of mode `sample`: a sample is reported immediately. The end of a call adds nothing.

import type { Events } from '../events.ts'

export const samples: Events = {
  ...{ tellsTime: false, rootCallsIn: null, recordsCalls: false, keepsTrees: false, tellsWaits: false },
  stacksWillDo: false,
  fixedBecause: 'samples contain all methods',
}
