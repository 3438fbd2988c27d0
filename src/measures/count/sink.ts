// Sink of mode `count`: events have no ticks.

import type { Sink } from '../../cct/snapshot.ts'
import { count as metric } from './columns.ts'

export const count: Sink = { metric, countsCalls: true }
