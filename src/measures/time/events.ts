// Events of mode `time`: each call reports its start and its end.

import type { Events } from '../events.ts'

export const time: Events = {
  tellsTime: true,
  rootCallsIn: 'ns',
  recordsCalls: true,
  keepsTrees: false,
  tellsWaits: false,
  stacksWillDo: true,
}
