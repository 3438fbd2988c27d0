// Sink of mode `time`: ticks of the session's clock are converted to columns of calibrated time.

import type { Sink } from '../../cct/snapshot.ts'
import { time as metric } from './columns.ts'

export const time: Sink = { metric, columns: (tree) => tree }
