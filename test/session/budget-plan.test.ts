import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { type Graph, type Load, narrow, widen } from '../../src/session/budget-plan.ts'

const [MAIN, WORK, GET, PUT, HASH, COLD] = [1, 2, 3, 4, 5, 6] as const

function graphOf(edges: readonly (readonly [number, number])[]): Graph {
  const callees = new Map<number, Set<number>>()
  const callers = new Map<number, Set<number>>()
  for (const [caller, callee] of edges) {
    callees.set(caller, new Set([...(callees.get(caller) ?? []), callee]))
    callers.set(callee, new Set([...(callers.get(callee) ?? []), caller]))
  }
  return { callees, callers }
}

const GRAPH = graphOf([
  [MAIN, WORK],
  [WORK, GET],
  [WORK, PUT],
  [GET, HASH],
  [PUT, HASH],
  [PUT, COLD],
])
const FOLDABLE = new Set([WORK, GET, PUT, HASH, COLD])

/** Probes cost a tick a call. */
function load(calls: Readonly<Record<number, number>>, own: Readonly<Record<number, number>> = {}): Load {
  const of = (values: Readonly<Record<number, number>>) =>
    Float64Array.from({ length: 9 }, (_, i) => values[i] ?? 0)
  const probeTicks = Object.values(calls).reduce((sum, it) => sum + it, 0)
  const ticks = of(calls).map((it, i) => it + (own[i] ?? 0))
  return {
    calls: of(calls),
    estimated: of(calls),
    ticks,
    probeTicks,
    waitTicks: 0,
    pauseTicks: 0,
    bareTicks: 1000,
  }
}

describe('narrowing', () => {
  it('takes the hottest leaf, and no more than it must', () => {
    const hot = load({ [MAIN]: 1, [WORK]: 10, [GET]: 100, [PUT]: 100, [HASH]: 1000, [COLD]: 1 })
    assert.deepEqual(narrow(hot, 1, GRAPH, FOLDABLE, new Set(), 300), [HASH])
    assert.deepEqual(narrow(hot, 1, GRAPH, FOLDABLE, new Set([HASH]), 2000), [])
  })

  it('takes a method only with all that it calls', () => {
    const hot = load({ [MAIN]: 1, [WORK]: 10, [GET]: 10, [PUT]: 1000, [HASH]: 20, [COLD]: 1 })
    assert.deepEqual(new Set(narrow(hot, 1, GRAPH, FOLDABLE, new Set(), 60)), new Set([PUT, HASH, COLD]))
    assert.deepEqual(new Set(narrow(hot, 1, GRAPH, FOLDABLE, new Set([HASH]), 60)), new Set([PUT, COLD]))
  })

  it('prefers what is cheap itself: there is less to lose', () => {
    const hot = load({ [GET]: 100, [COLD]: 110 }, { [GET]: 1, [COLD]: 5000 })
    assert.deepEqual(narrow(hot, 1, graphOf([]), FOLDABLE, new Set(), 120), [GET])
  })

  it('takes methods that call each other together', () => {
    const cycle = graphOf([
      [WORK, GET],
      [GET, PUT],
      [PUT, GET],
      [HASH, HASH],
    ])
    const hot = load({ [GET]: 100, [PUT]: 100, [HASH]: 90 })
    assert.deepEqual(new Set(narrow(hot, 1, cycle, FOLDABLE, new Set(), 20)), new Set([GET, PUT, HASH]))
  })

  it('leaves roots and what leads to them, and does what it can', () => {
    const back = graphOf([
      [MAIN, WORK],
      [WORK, MAIN],
      [WORK, GET],
      [PUT, 0],
    ])
    const hot = load({ [MAIN]: 500, [WORK]: 500, [GET]: 100, [PUT]: 100 })
    assert.deepEqual(narrow(hot, 1, back, FOLDABLE, new Set(), 10), [GET])
  })

  it('holds in graphs of any form: what is folded calls nothing that is not', () => {
    let state = 7
    const random = (below: number) => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0
      return Math.floor((state / 2 ** 32) * below)
    }
    for (let round = 0; round < 200; round++) {
      const methods = 2 + random(30)
      const edges = Array.from(
        { length: random(60) },
        () => [1 + random(methods), 1 + random(methods)] as const,
      )
      const graph = graphOf(edges)
      const foldable = new Set(Array.from({ length: methods }, (_, i) => i + 1).filter(() => random(10) > 0))
      const counts = Object.fromEntries(Array.from({ length: methods }, (_, i) => [i + 1, random(1000)]))
      const size = 1 + methods
      const busy = { ...load(counts), calls: Float64Array.from({ length: size }, (_, i) => counts[i] ?? 0) }
      const out = narrow(busy, 1, graph, foldable, new Set(), random(5000))
      const folded = new Set(out)
      assert.equal(folded.size, out.length)
      const back = widen(busy, 1, graph, folded, (it) => it % 3 > 0, random(5000))
      for (const it of back) assert.ok(folded.delete(it))
      for (const rest of [new Set(out), folded])
        for (const [caller, callee] of edges) assert.ok(!rest.has(caller) || rest.has(callee))
      for (const it of out) assert.ok(foldable.has(it))
      for (const it of back) assert.ok(it % 3 > 0)
    }
  })
})

describe('widening', () => {
  const folded = new Set([WORK, GET, PUT, HASH, COLD])
  const always = () => true

  it('gives back what is cheap now, callers first', () => {
    const calm = load({ [WORK]: 1, [GET]: 5, [PUT]: 5, [HASH]: 5000, [COLD]: 0 })
    assert.deepEqual(widen(calm, 1, GRAPH, folded, always, 20).toSorted(), [WORK, GET, PUT, COLD])
    assert.deepEqual(widen(calm, 1, GRAPH, folded, always, 8).toSorted(), [WORK, PUT, COLD])
    assert.deepEqual(widen(calm, 1, GRAPH, folded, always, 10_000).toSorted(), [...folded].toSorted())
  })

  it('waits for what has not been folded for long enough', () => {
    const calm = load({})
    assert.deepEqual(widen(calm, 1, GRAPH, folded, (it) => it !== PUT, 100).toSorted(), [WORK, GET])
    assert.deepEqual(
      widen(calm, 1, GRAPH, folded, (it) => it !== WORK, 100),
      [],
    )
  })
})
