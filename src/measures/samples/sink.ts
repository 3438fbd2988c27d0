// Sink of mode `sample`: each sample is one tick at the thread's current node.

import type { Sink } from '../../cct/snapshot.ts'
import { samples as metric } from './columns.ts'

export const samples: Sink = { metric }
