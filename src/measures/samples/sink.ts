// Sink of mode `sample`: each sample adds one tick to the thread's current node.

import type { Sink } from '../../cct/snapshot.ts'
import { samples as metric } from './columns.ts'

export const samples: Sink = { metric }
