// Two trees merged by path.

import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { type Difference, differenceOf } from '../../src/cct/difference.ts'
import type { Tree } from '../../src/cct/tree.ts'
import { chain, Methods, randomTree, seeded, treeOf } from '../profile/trees.ts'
import { FULL } from '../support/lane.ts'

/**
 * Returns lines in the format "main 1x 10 | 2x 30": calls and self cost in both trees, "-" if a tree has no such node. There is one line
 * per node, indented by depth.
 */
function show(difference: Difference, before: Tree, after: Tree, names: Methods): string[] {
  const depth: number[] = []
  return Array.from({ length: difference.count }, (_, i) => {
    depth[i] = difference.parent[i] < 0 ? 0 : depth[difference.parent[i]] + 1
    const [b, a] = [difference.nodeBefore[i], difference.nodeAfter[i]]
    const id = b >= 0 ? before.method[b] : after.method[a]
    const side = (node: number, of: 'before' | 'after') =>
      node < 0 ? '-' : `${difference.calls[of][i]}x ${difference.self[of][i]}/${difference.total[of][i]}`
    return `${'  '.repeat(depth[i])}${names.names[id].method} ${side(b, 'before')} | ${side(a, 'after')}`
  })
}

describe('the difference of two trees, matched by path', () => {
  it('a difference has every context of the two trees, with its cost in each tree', () => {
    const methods = new Methods()
    const before = treeOf('main 2x 10ns ( work 4x 20ns ( leaf 1x 5ns ) old 1x 3ns )', methods)
    const after = treeOf('main 3x 12ns ( fresh 1x 7ns work 6x 40ns ( leaf 2x 6ns ) )', methods)
    const difference = differenceOf(before, after)
    assert.deepEqual(show(difference, before, after, methods), [
      'main 2x 10/38 | 3x 12/65',
      '  work 4x 20/25 | 6x 40/46',
      '    leaf 1x 5/5 | 2x 6/6',
      '  old 1x 3/3 | -',
      '  fresh - | 1x 7/7',
    ])
    assert.deepEqual(difference.rootCalls, { before: 2, after: 3 })
    assert.deepEqual([...difference.size], [5, 2, 1, 1, 1])
  })

  it('contexts of the two trees are matched by key if their ids differ, and siblings with the same key are summed', () => {
    const [ours, theirs] = [new Methods(), new Methods()]
    const before = treeOf('main 1x 1ns ( work 1x 2ns )', ours)
    const after = treeOf('main 1x 1ns ( other.work 1x 3ns work 1x 4ns )', theirs)
    const key = (methods: Methods) => (id: number) => methods.names[id].method
    const difference = differenceOf(before, after, key(ours), key(theirs))
    assert.deepEqual(show(difference, before, after, ours), [
      'main 1x 1/3 | 1x 1/8',
      '  work 1x 2/2 | 2x 7/7',
    ])
  })

  it('in the difference of random trees, nodes are in preorder, and self and children sum to the parent for each of the two trees', () => {
    const seed = 20261123
    const random = seeded(seed)
    for (let round = 0; round < 30; round++) {
      const [before, after] = [randomTree(300, 9, random), randomTree(200, 12, random)]
      const { count, parent, size, self, total, nodeBefore, nodeAfter } = differenceOf(before, after)
      for (const side of ['before', 'after'] as const) {
        const sums = self[side].slice()
        for (let i = count - 1; i > 0; i--) if (parent[i] >= 0) sums[parent[i]] += sums[i]
        assert.deepEqual(sums, total[side], `seed ${seed}, round ${round}`)
        const tree = side === 'before' ? before : after
        const found = (side === 'before' ? nodeBefore : nodeAfter).filter((node) => node >= 0)
        assert.equal(new Set(found).size, tree.count)
      }
      for (let i = 0; i < count; i++) {
        const above = parent[i]
        assert.ok(above < i && (above < 0 || i + size[i] <= above + size[above]))
      }
    }
  })

  it('the difference of a tree and an empty tree has the contexts of the tree; the difference of two empty trees is empty', () => {
    const methods = new Methods()
    const [none, one] = [treeOf('', methods), treeOf('main 1x 1ns', methods)]
    assert.deepEqual(show(differenceOf(none, one), none, one, methods), ['main - | 1x 1/1'])
    assert.equal(differenceOf(none, none).count, 0)
  })

  it('a difference is computed for trees 100,000 levels deep, and for a context with very many children', () => {
    const deep = chain(100_000)
    assert.equal(differenceOf(deep, chain(100_001)).count, 100_001)
    const count = FULL ? 1_000_001 : 200_001 // more than a call may have arguments
    const wide: Tree = {
      count,
      method: Int32Array.from({ length: count }, (_, i) => i + 1),
      parent: Int32Array.from({ length: count }, (_, i) => (i === 0 ? -1 : 0)),
      size: Int32Array.from({ length: count }, (_, i) => (i === 0 ? count : 1)),
      metrics: {
        calls: new Float64Array(count).fill(1),
        selfNs: new Float64Array(count).fill(1),
        totalNs: new Float64Array(count).fill(1),
      },
    }
    const difference = differenceOf(wide, wide)
    assert.deepEqual([difference.count, difference.calls.after[count - 1]], [count, 1])
  })
})
