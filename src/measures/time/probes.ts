// Exact times: each call tells when it begins and ends.

import { EXACT_TIME } from '../../instrument/class.ts'
import { waitRecipe } from '../../session/code/wait-points.ts'
import type { Probes } from '../probes.ts'

export const time: Probes = {
  recipe: ({ jdk, scheme, waits }, feature) => {
    if (scheme === 'adaptive') return { tells: 'time', switched: true }
    return waits === true ? { tells: 'time', waits: waitRecipe(feature, jdk) } : EXACT_TIME
  },
}
