// Events of mode `count`: events report calls, without times or costs.

import type { Events } from '../events.ts'

export const count: Events = {
  tellsTime: false,
  rootCallsIn: null,
  recordsCalls: true,
  keepsTrees: true,
  tellsWaits: false,
  stacksWillDo: false,
}
