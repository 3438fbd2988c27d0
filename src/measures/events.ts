// Describes the events of each measure. This file is loaded before any request to the target, so it is small.

import { allocation } from './allocation/events.ts'
import { bytecodes } from './bytecodes/events.ts'
import type { Mode } from './columns.ts'
import { count } from './count/events.ts'
import { locks } from './locks/events.ts'
import { regions } from './regions/events.ts'
import { samples } from './samples/events.ts'
import { time } from './time/events.ts'

export interface Events {
  /** True if events contain times. */
  readonly tellsTime: boolean
  /** Unit of the durations of root calls in events; null if events contain no durations of root calls. */
  readonly rootCallsIn: 'ns' | 'bytecodes' | null
  /** True if events report the start and the end of each call. */
  readonly recordsCalls: boolean
  /** True if threads of the target can keep their own trees instead of writing an event per call. */
  readonly keepsTrees: boolean
  /** True if events report waits. Each wait has a row of its own. */
  readonly tellsWaits: boolean
  /** Whether to suggest stacks sampled by time if loading an agent could harm the target. */
  readonly stacksWillDo: boolean
  /** Lowest method id, if lower ids are ids of classes. If absent, the default is used. */
  readonly firstMethod?: number
  /** Beginning of the message "… recorded in methods of the JDK only with --jdk". Absent if JDK methods can be added during a session. */
  readonly byCallers?: string
  /** Reason why the user cannot exclude or add methods during a session. Absent if this is possible. */
  readonly fixedBecause?: string
}

export const EVENTS: Readonly<Record<Mode | 'regions', Events>> = {
  exact: time,
  locks,
  bytecodes,
  count,
  regions,
  alloc: allocation,
  sample: samples,
}
