// Probes of mode `sample`: each thread samples itself after a number of executed bytecodes.

import type { Probes } from '../probes.ts'

export const samples: Probes = {
  recipe: () => ({ tells: 'samples' }),
}
