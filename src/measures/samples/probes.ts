// Samples that threads take of themselves after so many bytecodes.

import type { Probes } from '../probes.ts'

export const samples: Probes = {
  recipe: () => ({ tells: 'samples' }),
}
