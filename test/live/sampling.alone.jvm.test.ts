// --mode sample by time: shares of levels that each spin for as long as the next.

import { expect, it } from 'vitest'
import { forNewestJdk } from '../support/jdks.ts'
import type { JsonNode } from '../support/jfluid.ts'
import { pathsOf, runOdd } from './sampling-odd.ts'

forNewestJdk((jdk) => {
  it('the innermost level is found, and no level has most of the time', async () => {
    const exact = [...pathsOf(await runOdd(jdk, '--mode', 'count'))]
    const timed = await runOdd(jdk, '--mode', 'sample', '--every', '0.2ms')
    for (const path of pathsOf(timed)) expect(exact).toContain(path)
    // Each level spins as long as the next: the innermost is found, and no level has most of it.
    const spins = new Map<number, number>()
    const visit = (node: JsonNode, depth: number): void => {
      if (node.method === 'spin') spins.set(depth, (spins.get(depth) ?? 0) + node.selfSamples!)
      for (const child of node.children) visit(child, depth + 1)
    }
    for (const node of timed.merged) visit(node, 0)
    const [least, most] = [Math.min(...spins.values()), Math.max(...spins.values())]
    expect([...spins.keys()].sort()).toEqual([1, 2, 3])
    expect(most / least).toBeLessThan(2)
  })
})
