// Probes of mode `time`: each call reports its start and its end.

import { EXACT_TIME } from '../../instrument/class.ts'
import type { Probes } from '../probes.ts'

export const time: Probes = {
  recipe: ({ scheme }) => (scheme === 'adaptive' ? { tells: 'time', switched: true } : EXACT_TIME),
}
