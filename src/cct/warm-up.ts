// Warm-up share: the measurements from before the last redefinition had settled.

import type { Collapse } from './collapse.ts'
import { ALIVE_NODES, NODE, type Nodes } from './nodes.ts'

// Local constants for speed, as in thread-stack.ts.
const { FLOATS, CALLS, TICKS } = NODE

/** Calls, ticks and `probeHalves` of each node at the end of warm-up. */
export interface WarmUp {
  readonly count: number
  readonly calls: Float64Array
  readonly ticks: Float64Array
  readonly probeHalves: ReadonlyMap<number, number>
}

export const NO_WARM_UP: WarmUp = {
  count: 0,
  calls: new Float64Array(0),
  ticks: new Float64Array(0),
  probeHalves: new Map(),
}

/** Returns the warm-up share with new node indices. Values of merged nodes are summed. */
export function movedWarmUp(
  warm: WarmUp,
  { count, moved, callsInWaits }: Collapse,
  alive: () => void,
): WarmUp {
  if (warm.count === 0) return warm
  const calls = new Float64Array(count)
  const ticks = new Float64Array(count)
  const probeHalves = movedHalves(warm.probeHalves, moved)
  for (let node = 0; node < warm.count; node++) {
    if ((node & ALIVE_NODES) === ALIVE_NODES) alive()
    ticks[moved[node]] += warm.ticks[node]
    if (!callsInWaits.has(node)) calls[moved[node]] += warm.calls[node]
    else addHalves(probeHalves, moved[node], 2 * warm.calls[node])
  }
  return { count, calls, ticks, probeHalves }
}

/** Returns probe halves per node with new node indices. Values of merged nodes are summed. */
export function movedHalves(halves: ReadonlyMap<number, number>, moved: Int32Array): Map<number, number> {
  const sums = new Map<number, number>()
  for (const [node, count] of halves) addHalves(sums, moved[node], count)
  return sums
}

export function addHalves(sums: Map<number, number>, node: number, count: number): void {
  if (count !== 0) sums.set(node, (sums.get(node) ?? 0) + count)
}

/** Returns everything measured so far. */
export function warmUpOf(
  { count, floats }: Nodes,
  probeHalves: ReadonlyMap<number, number>,
  alive: () => void,
): WarmUp {
  const calls = new Float64Array(count)
  const ticks = new Float64Array(count)
  for (let node = 0; node < count; node++) {
    if ((node & ALIVE_NODES) === ALIVE_NODES) alive()
    calls[node] = floats[node * FLOATS + CALLS]
    ticks[node] = floats[node * FLOATS + TICKS]
  }
  return { count, calls, ticks, probeHalves: new Map(probeHalves) }
}
