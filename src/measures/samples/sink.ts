// Each sample is a tick of where its thread was.

import type { Sink } from '../../cct/snapshot.ts'
import { samples as metric } from './columns.ts'

export const samples: Sink = { metric }
