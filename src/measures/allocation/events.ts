// Events of mode `alloc`: an allocation is reported immediately. The end of a call adds nothing.

import { FIRST_METHOD_BESIDE_CLASSES } from '../../events/event-layout.ts'
import type { Events } from '../events.ts'

export const allocation: Events = {
  ...{ tellsTime: false, rootCallsIn: null, recordsCalls: false, keepsTrees: false, tellsWaits: false },
  stacksWillDo: false,
  firstMethod: FIRST_METHOD_BESIDE_CLASSES,
  byCallers: 'allocations are',
}
