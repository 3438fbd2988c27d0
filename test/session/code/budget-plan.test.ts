import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import {
  type Graph,
  type Load,
  type Narrowing,
  narrow,
  widen,
} from '../../../src/session/code/budget-plan.ts'

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
    counted: of({}),
    estimated: of(calls),
    ticks,
    probeTicks,
    waitTicks: 0,
    pauseTicks: 0,
    bareTicks: 1000,
  }
}

/** Counting costs as much: nothing is. */
const ALIKE = { timed: 1, counted: 1 }
/** Counting costs a tenth. */
const CHEAPER = { timed: 1, counted: 0.1 }

const foldedOnly = (methods: Iterable<number>): Narrowing => new Map([...methods].map((it) => [it, 'folded']))

function folds(of: Load, graph: Graph, may: Set<number>, folded: Set<number>, most: number): number[] {
  return [...narrow(of, ALIKE, graph, may, foldedOnly(folded), most).folded]
}

function returns(
  of: Load,
  graph: Graph,
  folded: ReadonlySet<number>,
  mayReturn: (method: number) => boolean,
  room: number,
): number[] {
  return [...widen(of, ALIKE, graph, foldedOnly(folded), mayReturn, room).timed]
}

describe('narrowing', () => {
  it('takes the hottest leaf, and no more than it must', () => {
    const hot = load({ [MAIN]: 1, [WORK]: 10, [GET]: 100, [PUT]: 100, [HASH]: 1000, [COLD]: 1 })
    assert.deepEqual(folds(hot, GRAPH, FOLDABLE, new Set(), 300), [HASH])
    assert.deepEqual(folds(hot, GRAPH, FOLDABLE, new Set([HASH]), 2000), [])
  })

  it('takes a method only with all that it calls', () => {
    const hot = load({ [MAIN]: 1, [WORK]: 10, [GET]: 10, [PUT]: 1000, [HASH]: 20, [COLD]: 1 })
    assert.deepEqual(new Set(folds(hot, GRAPH, FOLDABLE, new Set(), 60)), new Set([PUT, HASH, COLD]))
    assert.deepEqual(new Set(folds(hot, GRAPH, FOLDABLE, new Set([HASH]), 60)), new Set([PUT, COLD]))
  })

  it('prefers what is cheap itself: there is less to lose', () => {
    const hot = load({ [GET]: 100, [COLD]: 110 }, { [GET]: 1, [COLD]: 5000 })
    assert.deepEqual(folds(hot, graphOf([]), FOLDABLE, new Set(), 120), [GET])
  })

  it('takes methods that call each other together', () => {
    const cycle = graphOf([
      [WORK, GET],
      [GET, PUT],
      [PUT, GET],
      [HASH, HASH],
    ])
    const hot = load({ [GET]: 100, [PUT]: 100, [HASH]: 90 })
    assert.deepEqual(new Set(folds(hot, cycle, FOLDABLE, new Set(), 20)), new Set([GET, PUT, HASH]))
  })

  it('leaves roots and what leads to them, and does what it can', () => {
    const back = graphOf([
      [MAIN, WORK],
      [WORK, MAIN],
      [WORK, GET],
      [PUT, 0],
    ])
    const hot = load({ [MAIN]: 500, [WORK]: 500, [GET]: 100, [PUT]: 100 })
    assert.deepEqual(folds(hot, back, FOLDABLE, new Set(), 10), [GET])
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
      const out = folds(busy, graph, foldable, new Set(), random(5000))
      const folded = new Set(out)
      assert.equal(folded.size, out.length)
      const back = returns(busy, graph, folded, (it) => it % 3 > 0, random(5000))
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
    assert.deepEqual(returns(calm, GRAPH, folded, always, 20).toSorted(), [WORK, GET, PUT, COLD])
    assert.deepEqual(returns(calm, GRAPH, folded, always, 8).toSorted(), [WORK, PUT, COLD])
    assert.deepEqual(returns(calm, GRAPH, folded, always, 10_000).toSorted(), [...folded].toSorted())
  })

  it('waits for what has not been folded for long enough', () => {
    const calm = load({})
    assert.deepEqual(returns(calm, GRAPH, folded, (it) => it !== PUT, 100).toSorted(), [WORK, GET])
    assert.deepEqual(
      returns(calm, GRAPH, folded, (it) => it !== WORK, 100),
      [],
    )
  })
})

describe('counting, between timed and folded', () => {
  const NOTHING = { folded: [], counted: [], timed: [] }
  const hot = load({ [MAIN]: 1, [WORK]: 10, [GET]: 100, [PUT]: 100, [HASH]: 1000, [COLD]: 1 })
  const of = (states: Readonly<Record<number, 'counted' | 'folded'>>): Narrowing =>
    new Map(Object.entries(states).map(([method, state]) => [Number(method), state]))
  const always = () => true

  it('comes first, if that is enough', () => {
    assert.deepEqual(narrow(hot, CHEAPER, GRAPH, FOLDABLE, of({}), 320), { ...NOTHING, counted: [HASH] })
  })

  it('is for what calls nothing that is not folded, and what was counted is folded for that', () => {
    const { folded, counted } = narrow(hot, CHEAPER, GRAPH, FOLDABLE, of({}), 125)
    assert.deepEqual([folded, counted], [[HASH], [GET]])
    const calls = Float64Array.of(0, 0, 0, 0, 0, 1000)
    const counting = { ...load({}), counted: calls, estimated: calls, probeTicks: 100 }
    const narrowed = narrow(counting, CHEAPER, GRAPH, FOLDABLE, of({ [HASH]: 'counted' }), 50)
    assert.deepEqual(narrowed, { ...NOTHING, folded: [HASH] })
  })

  it('is not for what calls itself', () => {
    const own = graphOf([
      [WORK, GET],
      [GET, PUT],
      [PUT, GET],
      [HASH, HASH],
    ])
    const busy = load({ [GET]: 100, [PUT]: 100, [HASH]: 500 })
    const { folded, counted } = narrow(busy, CHEAPER, own, FOLDABLE, of({}), 10)
    assert.deepEqual([folded.toSorted(), counted], [[GET, PUT, HASH], []])
  })

  it('comes back first, where there is no room for more', () => {
    const calm = load({ [WORK]: 1, [GET]: 5, [PUT]: 5, [HASH]: 500, [COLD]: 0 })
    const back = widen(calm, CHEAPER, GRAPH, foldedOnly([GET, PUT, HASH]), always, 65)
    assert.deepEqual(back, { ...NOTHING, counted: [HASH], timed: [GET, PUT] })
    const counted = of({ [HASH]: 'counted' })
    assert.deepEqual(widen(calm, CHEAPER, GRAPH, counted, always, 449), NOTHING)
    assert.deepEqual(widen(calm, CHEAPER, GRAPH, counted, always, 451), { ...NOTHING, timed: [HASH] })
    // What it calls has probes.
    assert.deepEqual(widen(calm, CHEAPER, GRAPH, foldedOnly([GET, PUT]), always, 1), NOTHING)
  })

  it('holds in graphs of any form: what is counted calls nothing that is not folded', () => {
    let state = 11
    const random = (below: number) => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0
      return Math.floor((state / 2 ** 32) * below)
    }
    let counts = 0
    for (let round = 0; round < 300; round++) {
      const methods = 2 + random(20)
      const edges = Array.from(
        { length: random(40) },
        () => [1 + random(methods), 1 + random(methods)] as const,
      )
      const graph = graphOf(edges)
      const foldable = new Set(Array.from({ length: methods }, (_, i) => i + 1).filter(() => random(10) > 0))
      const calls = Float64Array.from({ length: 1 + methods }, (_, i) => (i === 0 ? 0 : random(1000)))
      const probeTicks = calls.reduce((sum, it) => sum + it, 0)
      const busy = { ...load({}), calls, estimated: calls, probeTicks }
      const states = new Map<number, 'counted' | 'folded'>()
      const take = ({ folded, counted, timed }: ReturnType<typeof narrow>) => {
        for (const it of folded) states.set(it, 'folded')
        for (const it of counted) states.set(it, 'counted')
        for (const it of timed) assert.ok(states.delete(it))
        counts += counted.length
        for (const [caller, callee] of edges)
          if (states.has(caller)) assert.equal(states.get(callee), 'folded', `${caller} ${callee}`)
        for (const it of states.keys()) assert.ok(foldable.has(it))
      }
      take(narrow(busy, CHEAPER, graph, foldable, states, random(4000)))
      for (let step = 0; step < 3; step++)
        take(widen(busy, CHEAPER, graph, states, (it) => it % 5 > 0, random(1500)))
      take(narrow(busy, CHEAPER, graph, foldable, states, random(2000)))
    }
    assert.ok(counts > 100, String(counts))
  })
})
