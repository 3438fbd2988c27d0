// Events of mode `locks`: the events of mode `time`, and waits.

import type { Events } from '../events.ts'
import { time } from '../time/events.ts'

export const locks: Events = {
  ...time,
  tellsWaits: true,
  stacksWillDo: false,
  byCallers: 'waiting is',
}
