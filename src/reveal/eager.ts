// Scheme A: eager revelation of a call subgraph (JFluid paper, section 6.1).
//
// Whatever class hierarchy analysis finds reachable from the roots, directly or transitively, is
// taken at once; a class loaded later adds what it contributes, again transitively. No method needs
// to announce its first invocation, so every method is ready from the start.

import { append } from '../base/arrays.ts'
import type { MethodTarget } from './method-ids.ts'
import type { Reach } from './reach.ts'

/**
 * Expands every method taken until no new one turns up.
 *
 * @returns all methods taken since the last call
 */
export async function takeAll(reach: Reach): Promise<MethodTarget[]> {
  const taken: MethodTarget[] = []
  for (;;) {
    const batch = reach.fresh
    reach.fresh = []
    if (batch.length === 0) return taken
    append(taken, batch)
    await reach.expand(batch.map((it) => reach.refOf(it)).filter((it) => it !== null))
  }
}
