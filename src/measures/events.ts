// What the events of each measure tell. It is read before the target is asked for anything, so it is small.

import { allocation } from './allocation/events.ts'
import { bytecodes } from './bytecodes/events.ts'
import type { Mode } from './columns.ts'
import { count } from './count/events.ts'
import { locks } from './locks/events.ts'
import { regions } from './regions/events.ts'
import { samples } from './samples/events.ts'
import { time } from './time/events.ts'

export interface Events {
  /** The time. */
  readonly tellsTime: boolean
  /** What calls of roots take is told, and in what; null: it is not. */
  readonly rootCallsIn: 'ns' | 'bytecodes' | null
  /** Each call, and its end. */
  readonly recordsCalls: boolean
  /** Threads can keep trees of their own in place of an event a call. */
  readonly keepsTrees: boolean
  /** Waits, which have rows of their own. */
  readonly tellsWaits: boolean
  /** Scheme adaptive can measure it. */
  readonly isForAdaptive: boolean
  /** Stacks say something of it, where an agent would do harm. */
  readonly stacksWillDo: boolean
  /** Methods have ids from here on: below are those of classes. Absent: as of any measure. */
  readonly firstMethod?: number
  /** What is told by who calls the JDK, to go before "told by". */
  readonly byCallers?: string
  /** Why methods cannot be left out or added while a session runs. */
  readonly fixedBecause?: string
}

export const EVENTS: Readonly<Record<Mode | 'regions', Events>> = {
  exact: time,
  ...{ locks, bytecodes, count, regions },
  alloc: allocation,
  sample: samples,
}
