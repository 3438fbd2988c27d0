// Sinks of all measures, which the recorder thread uses. cct/snapshot.ts defines the interface.

import type { Sink } from '../cct/snapshot.ts'
import { allocation } from './allocation/sink.ts'
import { bytecodes } from './bytecodes/sink.ts'
import type { Mode } from './columns.ts'
import { count } from './count/sink.ts'
import { locks } from './locks/sink.ts'
import { samples } from './samples/sink.ts'
import { time } from './time/sink.ts'

export const SINKS: Readonly<Record<Mode, Sink>> = {
  exact: time,
  locks,
  bytecodes,
  count,
  alloc: allocation,
  sample: samples,
}
