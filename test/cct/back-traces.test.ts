// Callers of a method, merged over contexts. The oracle walks up from each context separately.

import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { backTraces, backTracesOfBoth } from '../../src/cct/back-traces.ts'
import { hotMethods } from '../../src/cct/snapshot.ts'
import type { Tree } from '../../src/cct/tree.ts'
import { chain, Methods, randomTree, seeded, treeOf } from '../profile/trees.ts'

const methods = new Methods()
const id = (name: string) => methods.id(name)

/** Returns the tree in the format "leaf 3x 30/30 ( a 1x 10/10 )": calls, self and total. */
function show(tree: Tree, self = 'selfNs', total = 'totalNs'): string {
  const below = (from: number, to: number): string => {
    const rows: string[] = []
    for (let node = from; node < to; node += tree.size[node]!) {
      const end = node + tree.size[node]!
      const { [self]: own, [total]: all, calls } = tree.metrics
      const callers = end > node + 1 ? ` ( ${below(node + 1, end)} )` : ''
      rows.push(
        `${methods.names[tree.method[node]!]!.method} ${calls![node]}x ${own![node]}/${all![node]}${callers}`,
      )
    }
    return rows.join('  ')
  }
  return below(0, tree.count)
}

const of = (notation: string, ...names: string[]) => backTraces(treeOf(notation, methods), names.map(id))

describe('back traces', () => {
  it('back traces merge the callers of all contexts up to the roots', () => {
    // leaf: 1 + 2 + 4 calls; 1 + 2 of them through a.
    const { tree, levels, isCut } = of(
      `main 1x 100ns ( a 1x 5ns ( leaf 1x 10ns ) b 1x 7ns ( a 1x 5ns ( leaf 2x 20ns ) leaf 4x 40ns ) )`,
      'leaf',
    )
    assert.equal(
      show(tree),
      'leaf 7x 70/70 ( a 3x 30/30 ( main 1x 10/10  b 2x 20/20 ( main 2x 20/20 ) )  b 4x 40/40 ( main 4x 40/40 ) )',
    )
    assert.deepEqual({ levels, isCut }, { levels: 3, isCut: false })
  })

  it('the row of a caller in a back trace shows the cost of the called method and its callees, not the cost of the caller itself', () => {
    const { tree } = of('main 1x 100ns ( a 1x 5ns ( mid 1x 3ns ( leaf 1x 10ns ) ) )', 'mid')
    assert.equal(show(tree), 'mid 1x 3/13 ( a 1x 3/13 ( main 1x 3/13 ) )')
  })

  it('in back traces, the total of a recursive method counts only the outermost calls; its self time and number of calls count all calls', () => {
    // f calls f calls f: 1 + 2 + 4 calls and ns; the total of 7 is that of the outermost call.
    const { tree } = of('main 1x 0ns ( f 1x 1ns ( f 2x 2ns ( f 4x 4ns ) ) )', 'f')
    assert.equal(show(tree), 'f 7x 7/7 ( main 1x 1/7  f 6x 6/0 ( main 2x 2/0  f 4x 4/0 ( main 4x 4/0 ) ) )')
  })

  it('a back trace ends at the root, which has no caller', () => {
    const { tree } = of('f 3x 3ns ( g 1x 1ns ( f 2x 2ns ) )', 'f')
    assert.equal(show(tree), 'f 5x 5/6 ( g 2x 2/0 ( f 2x 2/0 ) )')
  })

  it('back traces have one top node per method that has a context in the tree', () => {
    const { tree } = of('main 1x 0ns ( a 1x 1ns b 2x 2ns )', 'b', 'nowhere', 'a')
    assert.equal(show(tree), 'b 2x 2/2 ( main 2x 2/2 )  a 1x 1/1 ( main 1x 1/1 )')
    assert.equal(of('main 1x 0ns', 'nowhere').tree.count, 0)
  })

  it('back traces have the columns of the metric that was recorded', () => {
    const { metrics, ...rest } = treeOf('main 1x 100ns ( a 1x 5ns ( leaf 2x 16ns ) )', methods)
    const calls = metrics.calls!
    const bytes = { calls, bytes: metrics.selfNs!, totalBytes: metrics.totalNs! }
    const ofBytes = backTraces({ ...rest, metrics: bytes }, [id('leaf')]).tree
    assert.equal(show(ofBytes, 'bytes', 'totalBytes'), 'leaf 2x 16/16 ( a 2x 16/16 ( main 2x 16/16 ) )')
    assert.deepEqual(Object.keys(ofBytes.metrics), ['calls', 'bytes', 'totalBytes'])
    const ofCalls = backTraces({ ...rest, metrics: { calls, totalCalls: metrics.totalNs! } }, [id('a')]).tree
    assert.equal(show(ofCalls, 'calls', 'totalCalls'), 'a 1x 1/21 ( main 1x 1/21 )')
  })

  it('back traces merge call sites of one method', () => {
    const tree = treeOf('main 1x 0ns ( leaf 2x 2ns leaf2 3x 3ns )', methods)
    const methodOf = Int32Array.from(methods.names, (_, at) => (at === id('leaf2') ? id('leaf') : at))
    assert.equal(show(backTraces({ ...tree, methodOf }, [id('leaf')]).tree), 'leaf 5x 5/5 ( main 5x 5/5 )')
  })

  it('back traces of random trees equal the back traces found by a walk from each context up to its root', () => {
    for (let seed = 1; seed <= 40; seed++) {
      const tree = randomTree(60, 4, seeded(seed))
      for (const { method, calls, self, total } of hotMethods(tree)) {
        const { tree: traces, isCut } = backTraces(tree, [method])
        assert.deepEqual(sumsByTrace(traces, method), walked(tree, method), `seed ${seed}, method ${method}`)
        assert.equal(isCut, false)
        const { calls: all, selfNs, totalNs } = traces.metrics
        assert.deepEqual(
          [all![0], selfNs![0], Math.round(totalNs![0]!)],
          [calls, self, Math.round(total)],
          `seed ${seed}: the top row is the hot method`,
        )
      }
    }
  })

  it('the computation of back traces stops at the limit of steps and reports the limit', () => {
    // The levels need 100,000 + 99,999 + … steps: ten levels need 999,955 steps.
    const { tree, levels, isCut } = backTraces(chain(100_000), [1], 1_000_000)
    assert.deepEqual({ levels, isCut, rows: tree.count }, { levels: 10, isCut: true, rows: 11 })
    assert.deepEqual([...tree.metrics.calls!].slice(0, 3), [100_000, 99_999, 99_998])
    assert.equal(backTraces(chain(5), [1], 1).levels, 1, 'direct callers are always there')
    assert.equal(backTraces(chain(2), [1], 3).isCut, false)
  })
})

describe('back traces of two trees', () => {
  const both = (before: Tree, after: Tree) => {
    const sides = backTracesOfBoth(backTraces(before, [1], 1000), before, after, [1], 1000)
    return [sides.before, sides.after].map(({ tree, levels, isCut }) => [tree.count, levels, isCut])
  }

  it('compared back traces have only the levels that both trees have', () => {
    // Ten levels of the first chain need 100 + 99 + … = 955 steps, five levels of the second chain need 200 + 199 + … = 990 steps.
    assert.deepEqual(both(chain(100), chain(200)), [
      [6, 5, true],
      [6, 5, true],
    ])
    assert.deepEqual(both(chain(200), chain(100)), [
      [6, 5, true],
      [6, 5, true],
    ])
  })

  it('the back traces of two trees are complete if both fit into the limit of steps, even if one tree has fewer levels', () => {
    assert.deepEqual(both(chain(4), chain(200)), [
      [4, 3, false],
      [6, 5, true],
    ])
    assert.deepEqual(both(chain(10), chain(200)), [
      [6, 5, true],
      [6, 5, true],
    ])
    assert.deepEqual(both(chain(4), chain(10)), [
      [4, 3, false],
      [10, 9, false],
    ])
  })

  it('in a comparison, the back traces of the first tree are reused if that tree has no further levels', () => {
    const [before, after] = [chain(200), chain(100)]
    const found = backTraces(before, [1], 1000)
    assert.equal(backTracesOfBoth(found, before, after, [1], 1000).before, found)
  })
})

/** Returns [calls, self, total] of each trace "method caller caller", summed by a walk up from every context of the method. */
function walked(tree: Tree, method: number): Map<string, number[]> {
  const sums = new Map<string, number[]>()
  for (let node = 0; node < tree.count; node++) {
    if (tree.method[node] !== method) continue
    let isInner = false
    for (let at = tree.parent[node]!; at >= 0; at = tree.parent[at]!) isInner ||= tree.method[at] === method
    let trace = ''
    for (let at = node; at >= 0; at = tree.parent[at]!) {
      trace += ` ${tree.method[at]}`
      const sum = sums.get(trace) ?? [0, 0, 0]
      sums.set(trace, [
        sum[0]! + tree.metrics.calls![node]!,
        sum[1]! + tree.metrics.selfNs![node]!,
        sum[2]! + (isInner ? 0 : tree.metrics.totalNs![node]!),
      ])
    }
  }
  return rounded(sums)
}

function sumsByTrace(tree: Tree, method: number): Map<string, number[]> {
  const sums = new Map<string, number[]>()
  const traces: string[] = []
  for (let node = 0; node < tree.count; node++) {
    const above = tree.parent[node]!
    traces.push(`${above < 0 ? '' : traces[above]} ${tree.method[node]}`)
    const { calls, selfNs, totalNs } = tree.metrics
    assert.ok(!sums.has(traces[node]!), `one row a trace, method ${method}`)
    sums.set(traces[node]!, [calls![node]!, selfNs![node]!, totalNs![node]!])
  }
  return rounded(sums)
}

/** Rounds the sums, since sums of floating-point numbers depend on the order. */
function rounded(sums: Map<string, number[]>): Map<string, number[]> {
  const sorted = [...sums].sort(([a], [b]) => (a < b ? -1 : 1))
  return new Map(sorted.map(([trace, numbers]) => [trace, numbers.map((it) => Math.round(it))]))
}
