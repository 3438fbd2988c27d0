// Probes of mode `count`: probes report calls, without times or costs.

import type { Probes } from '../probes.ts'

export const count: Probes = {
  recipe: ({ jdk }) => ({ tells: 'calls', jdk }),
}
