// Probes of mode `locks`: exact times, with separate rows for waits.

import { readsValues, valueStartsOf } from '../../session/code/value-paths.ts'
import { waitRecipe } from '../../session/code/wait-points.ts'
import type { Probes } from '../probes.ts'
import { time } from '../time/probes.ts'

export const locks: Probes = {
  ...time,
  recipe: (options, feature) => ({
    tells: 'time',
    waits: waitRecipe(feature, options.jdk),
    ...(readsValues(options) && { values: valueStartsOf(options) }),
  }),
}
