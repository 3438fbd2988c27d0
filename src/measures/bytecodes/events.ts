// Events of mode `bytecodes`: an exit event contains the number of executed bytecodes.

import type { Events } from '../events.ts'

export const bytecodes: Events = {
  tellsTime: false,
  rootCallsIn: 'bytecodes',
  recordsCalls: true,
  keepsTrees: true,
  tellsWaits: false,
  stacksWillDo: false,
}
