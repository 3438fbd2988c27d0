// Sink of mode `bytecodes`: ticks of events are bytecodes.

import type { Sink } from '../../cct/snapshot.ts'
import { bytecodes as metric } from './columns.ts'

export const bytecodes: Sink = { metric }
