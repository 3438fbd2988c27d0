// The time to which the counters of `jfluid why` belong.

import { expect, it, vi } from 'vitest'
import type { RootSearchOptions } from '../../../src/session/roots/root-search.ts'
import { searchWhy } from '../../../src/session/why/search.ts'

const calls = vi.hoisted((): string[] => [])

vi.mock('../../../src/session/why/counters.ts', () => ({
  startCounters: () => {
    calls.push('counters begin')
    return () => {
      calls.push('counters end')
      return {
        ...{ durationMs: 1_000, collectionMs: 250, throttledShare: null, processors: null },
        ...{ ranMs: null, delayedMs: null },
      }
    }
  },
}))

vi.mock('../../../src/session/roots/root-search.ts', () => ({
  searchRoots: async (_: number, { dumps, onSampled }: RootSearchOptions) => {
    calls.push('attached')
    const frames = ['shop.Main.work', 'java.lang.Thread.run']
    const thread = { id: 1, name: 'worker-1', virtual: false, state: 'RUNNABLE', frames }
    for (const _dump of [1, 2]) {
      dumps?.onDump?.([thread], 1, false)
      calls.push('dump')
    }
    onSampled?.()
    calls.push('left')
    return { candidates: { roots: [], stays: [], samples: 2 }, target: {}, durationMs: 1_000 }
  },
}))

it('the counters of jfluid why begin with the first thread dump, and end before the session leaves the JVM', async () => {
  const why = await searchWhy(process.pid, { durationMs: 1_000 })
  expect(calls).toEqual(['attached', 'counters begin', 'dump', 'dump', 'counters end', 'left'])
  expect(why?.answered?.answer.collection).toBe(0.25)
})
