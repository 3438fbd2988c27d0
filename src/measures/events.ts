// Contents of the events of all measures. This file is loaded before any request to the target, so it is small.

import { allocation } from './allocation/events.ts'
import { bytecodes } from './bytecodes/events.ts'
import type { Mode } from './columns.ts'
import { count } from './count/events.ts'
import { locks } from './locks/events.ts'
import { regions } from './regions/events.ts'
import { samples } from './samples/events.ts'
import { time } from './time/events.ts'

export interface Events {
  /** Events contain times. */
  readonly tellsTime: boolean
  /** Unit of reported root call durations; null if they are not reported. */
  readonly rootCallsIn: 'ns' | 'bytecodes' | null
  /** Events report the begin and end of each call. */
  readonly recordsCalls: boolean
  /** Threads can keep their own trees instead of writing an event per call. */
  readonly keepsTrees: boolean
  /** Events report waits, which have rows of their own. */
  readonly tellsWaits: boolean
  /** Whether stacks sampled by time are an alternative if an agent would be harmful. */
  readonly stacksWillDo: boolean
  /** Lowest method id; lower ids stand for classes. Absent: the default. */
  readonly firstMethod?: number
  /** Costs inside the JDK that are reported through their callers: the text before "told by". */
  readonly byCallers?: string
  /** Reason why methods cannot be excluded or added during a session. */
  readonly fixedBecause?: string
}

export const EVENTS: Readonly<Record<Mode | 'regions', Events>> = {
  exact: time,
  ...{ locks, bytecodes, count, regions },
  alloc: allocation,
  sample: samples,
}
