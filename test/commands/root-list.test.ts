import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { rootLines } from '../../src/commands/root-list.ts'
import type { FoundRoots } from '../../src/session/roots/root-search.ts'

const candidate = {
  ...{ root: 'shop.OrderService.process', share: 0.257, samples: 9, seen: 6, depth: 13 },
  threads: ['shop-worker-1', 'shop-worker-2', 'shop-worker-3'],
}
const found = {
  ...{ pid: 4711, target: { mainClass: 'shop.Main' }, sampling: { by: 'jfr' }, durationMs: 3000 },
  snapshot: { threads: [] },
  candidates: { roots: [candidate], stays: [], samples: 500 },
} as unknown as FoundRoots

const row = (columns?: number): string => rootLines(found, 10, columns)[1]!

describe('a row in the table of root candidates', () => {
  it('the row of a root candidate lists as many thread names as fit in the terminal width', () => {
    const numbers = '    25.7       6     13        3  shop.OrderService.process'
    assert.equal(row(), `${numbers}  (shop-worker-1, shop-worker-2, …)`)
    assert.equal(row(100), row())
    assert.equal(row(80), `${numbers}  (shop-worker-1, …)`)
    assert.equal(row(60), numbers)
  })

  it('no line of the table of root candidates is wider than the terminal', () => {
    assert.equal(row(50), '    25.7       6     13        3  shop.OrderServic')
  })
})
