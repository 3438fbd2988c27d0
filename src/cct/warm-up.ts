// What had been measured when the last redefinition had settled: the share of the warm-up.

import { ALIVE_NODES, NODE_CALLS, NODE_FLOATS, NODE_TICKS, type Nodes } from './nodes.ts'

/** Calls, ticks and `probeHalves` of each node then. */
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

/** What has been measured so far. */
export function warmUpOf(
  { count, floats }: Nodes,
  probeHalves: ReadonlyMap<number, number>,
  alive: () => void,
): WarmUp {
  const calls = new Float64Array(count)
  const ticks = new Float64Array(count)
  for (let node = 0; node < count; node++) {
    if ((node & ALIVE_NODES) === ALIVE_NODES) alive()
    calls[node] = floats[node * NODE_FLOATS + NODE_CALLS]
    ticks[node] = floats[node * NODE_FLOATS + NODE_TICKS]
  }
  return { count, calls, ticks, probeHalves: new Map(probeHalves) }
}
