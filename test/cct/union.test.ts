// Sum of several trees. Methods are matched by name.

import { describe, expect, it } from 'vitest'
import { SAMPLED, TIMED } from '../../src/cct/merge-samples.ts'
import { COLLAPSED } from '../../src/cct/nodes.ts'
import type { MethodName, Tree } from '../../src/cct/tree.ts'
import { type Part, UnionIds, unionOf } from '../../src/cct/union.ts'
import { Methods, randomTree, seeded, treeOf } from '../profile/trees.ts'

const part = (tree: Tree, names: readonly MethodName[]): Part => ({ tree, nameOf: (id) => names[id]! })

/** Returns the tree in the format "main 5x 22/103", one line per node, indented by depth. */
function show({ count, parent, method, metrics }: Tree, ids: UnionIds): string[] {
  const depth: number[] = []
  return Array.from({ length: count }, (_, i) => {
    depth[i] = parent[i]! < 0 ? 0 : depth[parent[i]!]! + 1
    const name = ids.names[method[i]!]!.method
    return `${'  '.repeat(depth[i]!)}${name} ${metrics.calls![i]}x ${metrics.selfNs![i]}/${metrics.totalNs![i]}`
  })
}

function random(seed: number, trees: number): { parts: Part[]; ids: UnionIds } {
  const numbers = seeded(seed)
  const names = Array.from({ length: 20 }, (_, i) => ({
    ...{ class: 'A', method: `m${i}`, descriptor: '()V', loader: 'app' },
  }))
  // The trees use different ids for the same methods.
  const parts = Array.from({ length: trees }, (_, i) =>
    part(randomTree(150 + 10 * i, 12, numbers), [...names.slice(i), ...names.slice(0, i)]),
  )
  return { parts, ids: new UnionIds() }
}

describe('a union of several trees', () => {
  it('a union has every context of all trees, and each column is summed over the trees', () => {
    const [one, two] = [new Methods(), new Methods()]
    const before = treeOf('main 2x 10ns ( work 4x 20ns ( leaf 1x 5ns ) old 1x 3ns )', one)
    const after = treeOf('main 3x 12ns ( fresh 1x 7ns work 6x 40ns ( leaf 2x 6ns ) )', two)
    const ids = new UnionIds()
    const parts = [part(before, one.names), part(after, two.names)]
    expect(show(unionOf(parts, ids), ids)).toEqual([
      'main 5x 22/103',
      '  work 10x 60/71',
      '    leaf 3x 11/11',
      '  old 1x 3/3',
      '  fresh 1x 7/7',
    ])
    expect([...unionOf(parts, ids).size]).toEqual([5, 2, 1, 1, 1])
    // Successive snapshots must have the same ids.
    expect([...unionOf([parts[1]!, parts[0]!], ids).method].map((id) => ids.names[id]!.method)).toEqual(
      ['main', 'fresh', 'work', 'leaf', 'old'], // the order of the other tree
    )
    expect(ids.names).toHaveLength(6)
  })

  it('a row of a union is timed if the row is timed in any of the trees', () => {
    const [one, two] = [new Methods(), new Methods()]
    const known = (tree: Tree, ...values: number[]): Tree => ({
      ...tree,
      metrics: { ...tree.metrics, known: Float64Array.from(values) },
    })
    const sampled = known(
      treeOf('main 2x 10ns ( work 0x 20ns ( leaf 0x 5ns ) )', one),
      TIMED,
      SAMPLED,
      SAMPLED,
    )
    const timed = known(treeOf('main 3x 12ns ( work 6x 40ns ( leaf 0x 6ns ) )', two), TIMED, TIMED, SAMPLED)
    const exact = treeOf('main 1x 1ns ( leaf 1x 1ns )', two)
    const knownOf = (...trees: [Tree, Methods][]) => [
      ...unionOf(
        trees.map(([tree, { names }]) => part(tree, names)),
        new UnionIds(),
      ).metrics.known!,
    ]
    expect(knownOf([sampled, one], [timed, two])).toEqual([TIMED, TIMED, SAMPLED])
    expect(knownOf([sampled, one], [sampled, one])).toEqual([TIMED, SAMPLED, SAMPLED])
    expect(knownOf([sampled, one], [exact, two])).toEqual([TIMED, SAMPLED, SAMPLED, TIMED])
  })

  it('in a union of random trees, children and self time sum to the total of the parent', () => {
    for (let seed = 1; seed <= 20; seed++) {
      const { parts, ids } = random(seed, 3)
      const { count, parent, metrics } = unionOf(parts, ids)
      const sums = metrics.selfNs!.slice()
      for (let i = count - 1; i > 0; i--) if (parent[i]! >= 0) sums[parent[i]!]! += sums[i]!
      expect(sums, `seed ${seed}`).toEqual(metrics.totalNs)
      const calls = (tree: Tree) => tree.metrics.calls!.reduce((sum, it) => sum + it, 0)
      expect(metrics.calls!.reduce((sum, it) => sum + it, 0)).toBe(
        parts.reduce((sum, { tree }) => sum + calls(tree), 0),
      )
    }
  })

  it('class loaders are matched even if each JVM numbers the class loaders differently', () => {
    const methods = new Methods()
    const tree = treeOf('main 1x 1ns', methods)
    const by = (loader: string): Part => ({
      tree,
      nameOf: (id) => ({ ...methods.names[id]!, loader }),
    })
    const ids = new UnionIds()
    expect(unionOf([by('com.foo.Loader@7'), by('com.foo.Loader@2')], ids).count).toBe(1)
    expect(unionOf([by('com.foo.Loader@7'), by('app')], ids).count).toBe(2)
    expect(ids.names.map(({ loader }) => loader)).toEqual(['', 'com.foo.Loader', 'app'])
  })

  it('a union sums collapsed contexts of all trees per method', () => {
    const [one, two] = [new Methods(), new Methods()]
    const numbers = (...values: number[]) => Float64Array.from(values)
    const with_ = (tree: Tree, method: number[], calls: number[]): Tree => ({
      ...tree,
      collapsed: {
        method: Int32Array.from(method),
        calls: numbers(...calls),
        self: numbers(...calls.map((it) => 10 * it)),
        total: numbers(...calls.map((it) => 100 * it)),
      },
    })
    const first = treeOf('main 1x 1ns ( a 1x 1ns b 1x 1ns )', one)
    const second = treeOf('main 1x 1ns ( b 1x 1ns )', two)
    second.method[1] = COLLAPSED
    const ids = new UnionIds()
    const union = unionOf(
      [part(with_(first, [2, 3], [1, 2]), one.names), part(with_(second, [2], [5]), two.names)],
      ids,
    )
    const { method, calls, self, total } = union.collapsed!
    const rows = [...method].map((id, i) => [ids.names[id]!.method, calls[i], self[i], total[i]])
    expect(rows).toEqual([
      ['a', 1, 10, 100],
      ['b', 7, 70, 700],
    ])
    expect([...union.method]).toContain(COLLAPSED)
  })
})
