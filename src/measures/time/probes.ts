// Probes of mode `time`: each call reports its start and its end.

import { readsValues, valueStartsOf } from '../../session/code/value-paths.ts'
import type { Probes } from '../probes.ts'

export const time: Probes = {
  recipe: (options) => ({
    tells: 'time',
    ...(options.scheme === 'adaptive' && { switched: true }),
    ...(readsValues(options) && { values: valueStartsOf(options) }),
  }),
}
