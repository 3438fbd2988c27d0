// Probes of mode `count`: calls only.

import type { Probes } from '../probes.ts'

export const count: Probes = {
  recipe: ({ jdk }) => ({ tells: 'calls', jdk }),
}
