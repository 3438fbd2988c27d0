// The tree of one method's calls.

import { describe, expect, it } from 'vitest'
import { belowRoot } from '../../src/cct/below-root.ts'
import { type Tree, topSum } from '../../src/cct/tree.ts'
import { Methods, randomTree, seeded, treeOf } from '../profile/trees.ts'

/** Returns the tree in the format "main 5x 22/103", one line per node, indented by depth. */
function show({ count, parent, method, metrics }: Tree, { names }: Methods): string[] {
  const depth: number[] = []
  return Array.from({ length: count }, (_, i) => {
    depth[i] = parent[i]! < 0 ? 0 : depth[parent[i]!]! + 1
    const calls = `${metrics.calls![i]}x ${metrics.selfNs![i]}/${metrics.totalNs![i]}`
    return `${'  '.repeat(depth[i]!)}${names[method[i]!]!.method} ${calls}`
  })
}

describe('the tree below a chosen root', () => {
  it('calls of the chosen method in several contexts become one root, and equal contexts below that root are summed', () => {
    const methods = new Methods()
    const tree = treeOf(
      'main 1x 5ns ( work 2x 10ns ( leaf 3x 6ns ) other 1x 1ns ( work 4x 20ns ( leaf 1x 2ns fresh 1x 9ns ) ) )',
      methods,
    )
    expect(show(belowRoot(tree, methods.id('work')), methods)).toEqual([
      'work 6x 30/47',
      '  leaf 4x 8/8',
      '  fresh 1x 9/9',
    ])
  })

  it('a nested call of the chosen method is shown as a row below the outermost call, not as a root', () => {
    const methods = new Methods()
    const tree = treeOf('main 1x 5ns ( work 2x 10ns ( leaf 3x 6ns ( work 1x 4ns ) ) )', methods)
    expect(show(belowRoot(tree, methods.id('work')), methods)).toEqual([
      'work 2x 10/20',
      '  leaf 3x 6/10',
      '    work 1x 4/4',
    ])
  })

  it('the tree of a method without calls is empty', () => {
    const methods = new Methods()
    const tree = treeOf('main 1x 5ns', methods)
    expect(belowRoot(tree, methods.id('absent')).count).toBe(0)
  })

  it('the calls of one method from several call sites become one root', () => {
    const methods = new Methods()
    const tree = treeOf('main 1x 5ns ( work 2x 10ns work2 3x 20ns )', methods)
    const methodOf = Int32Array.of(0, 1, 2, 2)
    const found = belowRoot({ ...tree, methodOf }, methods.id('work2'))
    expect(show(found, methods)).toEqual(['work2 5x 30/30'])
    expect(found.methodOf).toBe(methodOf)
  })

  it("in random trees, the self times of the root and of all rows below sum to the root's total time", () => {
    for (let seed = 1; seed <= 20; seed++) {
      const tree = randomTree(200, 10, seeded(seed))
      const found = belowRoot(tree, 3)
      const self = found.metrics.selfNs!.reduce((sum, it) => sum + it, 0)
      expect(self).toBeCloseTo(topSum(found, 'totalNs'), 3)
      expect([...found.parent].filter((it) => it < 0).length).toBe(tree.method.includes(3) ? 1 : 0)
    }
  })
})
