// Events of mode `alloc`: each allocation is one event. Starts and ends of calls are not events.

import { FIRST_METHOD_BESIDE_CLASSES } from '../../events/event-layout.ts'
import type { Events } from '../events.ts'

export const allocation: Events = {
  tellsTime: false,
  rootCallsIn: null,
  recordsCalls: false,
  keepsTrees: false,
  tellsWaits: false,
  stacksWillDo: false,
  firstMethod: FIRST_METHOD_BESIDE_CLASSES,
  byCallers: 'allocations are',
}
