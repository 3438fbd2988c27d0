// Probes of mode `locks`: exact times, with separate rows for waits.

import { waitRecipe } from '../../session/code/wait-points.ts'
import type { Probes } from '../probes.ts'
import { time } from '../time/probes.ts'

export const locks: Probes = {
  ...time,
  recipe: ({ jdk }, feature) => ({ tells: 'time', waits: waitRecipe(feature, jdk) }),
}
