import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { exactTime } from '../../src/base/compensation.ts'
import { CctBuilder } from '../../src/cct/builder.ts'
import { hotMethods, snapshotOf, VIRTUAL } from '../../src/cct/snapshot.ts'
import { enter, exit } from '../events/sinks.ts'
import { built, cctOf, FREE, idOf, play, show, treeOf } from './notation.ts'

describe('overhead compensation (report, section 5.3)', () => {
  const calibration = { innerTicks: 3, outerTicks: 2 }

  it('compensation subtracts from a node t_I per call of the node and t_O per call of a direct callee', () => {
    // main: 10 + 10 + 20 = 40 measured, 1 invocation, 2 calls out: 40 - 1*3 - 2*2 = 33
    // work: 30 + 30      = 60 measured, 2 invocations, no calls out: 60 - 2*3     = 54
    const cct = cctOf('main> 0  work> 10  work< 40  work> 50  work< 80  main< 100', calibration)
    assert.equal(show(cct), 'main 1x 33ns ( work 2x 54ns )')
    assert.equal(show(cct, 'measuredNs'), 'main 1x 40ns ( work 2x 60ns )')
  })

  it('a compensated time below zero stays negative, so that sums are exact', () => {
    const cct = cctOf('main> 0  main< 1', calibration)
    assert.equal(show(cct), 'main 1x -2ns')
  })

  it('self time and children sum to the parent before and after compensation', () => {
    // c: 5 - 3 = 2; b: 4 + 1 - 3 - 2 = 0, with c 2; a: 2 + 3 - 3 - 2 = 0, with b 2
    const cct = cctOf('a> 0  b> 2  c> 6  c< 11  b< 12  a< 15', calibration)
    assert.equal(show(cct, 'totalNs'), 'a 1x 2ns ( b 1x 2ns ( c 1x 2ns ) )')
  })

  it('a call that has not ended counts as a call made by its caller', () => {
    // main: 10 - 3 - 2; a: 20 - 3
    assert.equal(show(treeOf(built('main> 0  a> 10'), calibration, 30)), 'main 1x 5ns ( a 1x 17ns )')
  })

  it('ticks are converted to nanoseconds after all sums are computed', () => {
    const builder = built('main> 0  a> 10  a< 20  main< 30')
    const { merged } = snapshotOf(builder, { calibration, nsPerTick: 0.5 })
    assert.equal(show(merged), 'main 1x 7.5ns ( a 1x 3.5ns )')
    assert.equal(show(merged, 'measuredNs'), 'main 1x 10ns ( a 1x 5ns )')
  })

  it('the compensated time of a node follows the formula in the report', () => {
    assert.equal(exactTime(40, 1, 2, calibration), 33)
  })
})

describe('a snapshot of the trees', () => {
  it('a snapshot has a tree with the sums over all threads, and one tree for each thread', () => {
    const builder = built(
      '@5 main> 0 a> 1 a< 3 main< 4  @9 main> 10 b> 20 b< 21 a> 22 a< 25 main< 30  @5 run> 40 run< 41',
    )
    const { merged, threads } = snapshotOf(builder, { calibration: FREE, nsPerTick: 1 })
    assert.equal(show(merged), 'main 2x 18ns ( a 2x 5ns b 1x 1ns ) run 1x 1ns')
    assert.deepEqual(
      threads.map((t) => `${t.number}: ${show(t.tree)}`),
      ['5: main 1x 2ns ( a 1x 2ns ) run 1x 1ns', '9: main 1x 16ns ( a 1x 3ns b 1x 1ns )'],
    )
    assert.deepEqual([...threads[1].tree.parent], [-1, 0, 0])
  })

  it('a snapshot has one tree for all virtual threads', () => {
    const builder = built('@5.0 main> 0 @6.0 main> 1 @5.1 main< 4 @6.1 main< 5')
    const { threads } = snapshotOf(builder, { calibration: FREE, nsPerTick: 1 })
    assert.deepEqual(
      threads.map((t) => [t.number, show(t.tree)]),
      [[VIRTUAL, 'main 2x 8ns']],
    )
  })

  it('in every context of a snapshot, children are in the order in which their methods were first called', () => {
    const builder = built('m> 0 x> 1 x< 2 y> 3 y< 4 m< 5  n> 6 y> 7 y< 8 x> 9 x< 10 n< 11')
    assert.equal(show(treeOf(builder)), 'm 1x 3ns ( x 1x 1ns y 1x 1ns ) n 1x 3ns ( x 1x 1ns y 1x 1ns )')
  })

  it('a snapshot without calls is empty', () => {
    assert.equal(treeOf(new CctBuilder()).count, 0)
    const builder = built('@3 root')
    assert.deepEqual(snapshotOf(builder, { calibration: FREE, nsPerTick: 1 }).threads, [])
  })

  it('a snapshot omits trees of single threads if not requested', () => {
    const builder = built('@3 main> 0 main< 5')
    const { merged, threads } = snapshotOf(builder, { calibration: FREE, nsPerTick: 1, perThread: false })
    assert.equal(show(merged), 'main 1x 5ns')
    assert.deepEqual(threads, [])
  })

  it('a snapshot contains no event or pause that arrives while the snapshot is built', () => {
    const before = 'main> 0 work> 10 work< 40 work> 100010'
    const builder = built(before)
    builder.markWarmup()
    let fed = 0
    const { merged } = snapshotOf(
      builder,
      { calibration: FREE, nsPerTick: 1, nowTicks: 100_020 },
      () => {},
      () => {
        if (fed++ > 0) return
        builder.pause(50, 90_000)
        play(builder, 'work< 100100 other> 100200 other< 100300 main< 100400')
      },
    )
    assert.ok(fed > 0)
    assert.equal(show(merged), 'main 1x 99980ns ( work 2x 40ns )')
    assert.equal(show(merged, 'warmupSelfNs', 'warmupCalls'), 'main 1x 99980ns ( work 2x 30ns )')
    // main: 10 + 99,970 + 100 + 100 without the 89,950 of the pause
    assert.equal(show(treeOf(builder)), 'main 1x 10230ns ( work 2x 120ns other 1x 100ns )')
  })

  it('a snapshot of 100,000 nested calls does not overflow the stack', () => {
    const builder = new CctBuilder()
    builder.thread(1, -1)
    for (let depth = 0; depth < 100_000; depth++) enter(builder, 1, depth)
    for (let depth = 0; depth < 100_000; depth++) exit(builder, 1, 100_000 + depth)
    const tree = treeOf(builder)
    assert.equal(tree.metrics.totalNs[0], 199_999)
    assert.deepEqual(hotMethods(tree), [{ method: 1, calls: 100_000, self: 199_999, total: 199_999 }])
  })

  it('snapshots of random trees have consistent sizes, parents and totals (the seed is printed on failure)', () => {
    const seed = Math.floor(Math.random() * 2 ** 31)
    const random = generator(seed)
    const builder = new CctBuilder()
    let ticks = 0
    for (let thread = 1; thread <= 3; thread++) {
      builder.thread(thread, -1)
      const stack: number[] = []
      for (let i = 0; i < 5000; i++) {
        ticks += random(9)
        if (stack.length === 0 || (random(2) === 0 && stack.length < 12)) {
          stack.push(1 + random(6))
          enter(builder, stack[stack.length - 1], ticks)
        } else exit(builder, stack.pop()!, ticks)
      }
    }
    const { merged, threads } = snapshotOf(builder, {
      calibration: { innerTicks: 1, outerTicks: 2 },
      nsPerTick: 1,
    })
    for (const tree of [merged, ...threads.map((t) => t.tree)]) {
      for (let node = 0; node < tree.count; node++) {
        let total = tree.metrics.selfNs[node]
        const seen = new Set<number>()
        for (let child = node + 1; child < node + tree.size[node]; child += tree.size[child]) {
          assert.equal(tree.parent[child], node, `seed ${seed}`)
          assert.ok(!seen.has(tree.method[child]), `seed ${seed}: a context twice`)
          seen.add(tree.method[child])
          total += tree.metrics.totalNs[child]
        }
        assert.equal(tree.metrics.totalNs[node], total, `seed ${seed}`)
      }
    }
    for (const metric of ['calls', 'selfNs', 'measuredNs']) {
      const sum = (values: Float64Array) => values.reduce((a, b) => a + b, 0)
      const single = threads.reduce((all, t) => all + sum(t.tree.metrics[metric]), 0)
      assert.equal(sum(merged.metrics[metric]), single, `seed ${seed}`)
    }
  })
})

describe('hot methods', () => {
  it('the total time of a recursive hot method counts only its outermost activations', () => {
    // fib: 1 + 2 + 3 self; its total is the 10 of the outermost call, not 10 + 6 + …
    const tree = cctOf('main> 0  fib> 5  fib> 6  fib> 8  fib< 11  fib< 12  fib< 15  main< 20')
    const [first, second] = hotMethods(tree)
    assert.deepEqual(first, { method: idOf('main'), calls: 1, self: 10, total: 20 })
    assert.deepEqual(second, { method: idOf('fib'), calls: 3, self: 10, total: 10 })
  })

  it('the total time of hot methods counts mutually recursive calls once', () => {
    const tree = cctOf('even> 0  odd> 1  even> 2  odd> 3  odd< 4  even< 5  odd< 6  even< 7')
    const total = new Map(hotMethods(tree).map((h) => [h.method, h.total]))
    assert.equal(total.get(idOf('even')), 7)
    assert.equal(total.get(idOf('odd')), 5)
  })

  it('hot methods are summed over all contexts and sorted by self time, largest first', () => {
    const builder = built('a> 0 c> 1 c< 9 a< 10  b> 10 c> 11 c< 14 b< 16')
    play(builder, '@2 c> 0 c< 2')
    assert.deepEqual(
      hotMethods(treeOf(builder)).map((h) => [h.method, h.calls, h.self, h.total]),
      [
        [idOf('c'), 3, 13, 13],
        [idOf('b'), 1, 3, 6],
        [idOf('a'), 1, 2, 10],
      ],
    )
  })
})

function generator(seed: number): (below: number) => number {
  let state = seed | 1
  return (below) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % below
  }
}
