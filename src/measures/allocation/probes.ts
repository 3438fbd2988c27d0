// Probes of mode `alloc`: one after each allocating instruction.

import { ALLOCATING_INTRINSICS } from '../../instrument/allocations.ts'
import type { Probes } from '../probes.ts'

export const allocation: Probes = {
  recipe: ({ jdk, liveness }) => ({ tells: 'allocations', jdk, liveness: liveness === true }),
  intrinsics: ALLOCATING_INTRINSICS,
  begin: (agent, { liveness, sampleEvery }) => agent.allocations(sampleEvery ?? 1, liveness === true),
}
