// Exact times: each call tells when it begins and ends.

import { EXACT_TIME } from '../../instrument/class.ts'
import { waitRecipe } from '../../session/code/wait-points.ts'
import type { Probes } from '../probes.ts'

export const time: Probes = {
  recipe: ({ jdk, maxOverhead, scheme, waits }, feature) => {
    if (scheme === 'adaptive') return { tells: 'time', switched: true }
    if (waits === true) return { tells: 'time', waits: waitRecipe(feature, jdk) }
    return maxOverhead === undefined ? EXACT_TIME : { tells: 'time', mayCount: true }
  },
}
