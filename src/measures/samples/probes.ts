// Probes of mode `sample`: threads sample themselves per number of bytecodes.

import type { Probes } from '../probes.ts'

export const samples: Probes = {
  recipe: () => ({ tells: 'samples' }),
}
