// Events of mode `sample`: each sample is one event. Starts and ends of calls are not events.

import type { Events } from '../events.ts'

export const samples: Events = {
  tellsTime: false,
  rootCallsIn: null,
  recordsCalls: false,
  keepsTrees: false,
  tellsWaits: false,
  stacksWillDo: false,
  fixedBecause: 'samples contain all methods',
}
