import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { CctBuilder } from '../../src/cct/builder.ts'
import { Folding } from '../../src/cct/folding.ts'
import { COUNTED, FOLDED, foldsOf, methodFolds } from '../../src/cct/folds.ts'
import { snapshotOf } from '../../src/cct/snapshot.ts'
import { built, FREE, idOf, play, show } from './notation.ts'

const NONE = { folded: [], counted: [], timed: [] }

/** So many calls of main, each with three of get; they take 100 ticks. */
function mains(builder: CctBuilder, times: number, from: number, counted = true): void {
  for (let i = 0; i < times; i++) {
    const at = from + i * 100
    const gets = counted
      ? `get> ${at + 10} get< ${at + 12} get> ${at + 20} get< ${at + 22} get> ${at + 30} get< ${at + 32}`
      : ''
    play(builder, `main> ${at} ${gets} main< ${at + 100}`)
  }
}

/** @param ofCall  ticks that its probes cost, or that one costs which is only counted */
function foldingOf(builder: CctBuilder, ofCall: number, ofCount: number): Folding {
  return new Folding(builder, { innerTicks: ofCall, outerTicks: 0, countTicks: ofCount })
}

function picture(builder: CctBuilder, folding: Folding, nowTicks: number, thread?: number) {
  const options = { calibration: FREE, nsPerTick: 1, nowTicks }
  const { merged, threads } = snapshotOf(builder, options, undefined, undefined, folding)
  return thread === undefined ? merged : threads[thread]!.tree
}

describe('calls of folded methods', () => {
  it('are told from those of their callers', () => {
    const builder = new CctBuilder()
    const folding = foldingOf(builder, 0, 0)
    mains(builder, 10, 0)
    folding.change({ ...NONE, folded: [idOf('get')] }, 1000)
    mains(builder, 20, 1000, false)
    const tree = picture(builder, folding, 3000)
    assert.equal(show(tree), 'main 30x 2940ns ( get 30x 60ns )')
    assert.deepEqual([...foldsOf(tree)!.extra], [0, 60])
    assert.deepEqual([...foldsOf(tree)!.folded], [0, 1])
    assert.deepEqual(methodFolds(tree), new Map([[idOf('get'), { extra: 60, counted: 0, state: FOLDED }]]))

    folding.change({ ...NONE, timed: [idOf('get')] }, 3000)
    mains(builder, 5, 3000)
    const later = picture(builder, folding, 3500)
    assert.deepEqual([...foldsOf(later)!.extra], [0, 60])
    assert.deepEqual([...foldsOf(later)!.folded], [0, 0])
    // Those in between do not make the rate smaller.
    folding.change({ ...NONE, folded: [idOf('get')] }, 3500)
    mains(builder, 5, 3500, false)
    assert.deepEqual([...foldsOf(picture(builder, folding, 4000))!.extra], [0, 75])
  })

  it('are told from the time of a caller that does not end', () => {
    const builder = built('main> 0')
    const folding = foldingOf(builder, 1, 0)
    // A call each 10 ticks, of which one is the probes'.
    for (let at = 10; at < 1000; at += 10) play(builder, `get> ${at} get< ${at + 2}`)
    folding.change({ ...NONE, folded: [idOf('get')] }, 1000)
    const extra = foldsOf(picture(builder, folding, 1900))!.extra
    // main has taken 1000 - 100 ticks itself by then, for 99 calls
    assert.ok(Math.abs(extra[1] - 99) < 1.5, String(extra[1]))
  })

  it('are those of contexts, by what each caller has called', () => {
    const builder = new CctBuilder()
    const folding = foldingOf(builder, 0, 0)
    for (let i = 0; i < 10; i++) {
      const at = i * 100
      play(
        builder,
        `main> ${at} a> ${at} get> ${at} put> ${at} put< ${at} get< ${at} a< ${at} b> ${at} b< ${at} main< ${at + 9}`,
      )
    }
    folding.change({ ...NONE, folded: [idOf('get'), idOf('put')] }, 1000)
    play(builder, 'main> 1000 a> 1001 a< 1002 a> 1003 a< 1004 b> 1005 b< 1006 main< 1009')
    const tree = picture(builder, folding, 1010)
    assert.equal(
      show(tree, 'extrapolatedCalls'),
      'main 11x 0ns ( a 12x 0ns ( get 10x 2ns ( put 10x 2ns ) ) b 11x 0ns )',
    )
  })

  it('begin anew with all other counts', () => {
    const builder = new CctBuilder()
    const folding = foldingOf(builder, 0, 0)
    mains(builder, 10, 0)
    folding.change({ ...NONE, folded: [idOf('get')] }, 1000)
    mains(builder, 10, 1000, false)
    builder.reset(2000)
    folding.reset(2000)
    mains(builder, 4, 2000, false)
    assert.equal(show(picture(builder, folding, 2400), 'extrapolatedCalls'), 'main 4x 0ns ( get 0x 12ns )')
    folding.change({ ...NONE, timed: [idOf('get')] }, 2400)
    folding.change({ ...NONE, folded: [idOf('get')] }, 2400)
    mains(builder, 4, 2400, false)
    assert.equal(show(picture(builder, folding, 2800), 'extrapolatedCalls'), 'main 8x 0ns ( get 0x 24ns )')
  })

  it('are summed over threads', () => {
    const builder = new CctBuilder()
    const folding = foldingOf(builder, 0, 0)
    mains(builder, 10, 0)
    play(builder, '@2 main> 0 get> 1 get< 2 main< 3 '.repeat(10))
    folding.change({ ...NONE, folded: [idOf('get')] }, 2000)
    mains(builder, 2, 2000, false)
    play(builder, '@2 main> 2000 main< 2003')
    assert.equal(show(picture(builder, folding, 2200), 'extrapolatedCalls'), 'main 23x 0ns ( get 40x 7ns )')
    assert.equal(
      show(picture(builder, folding, 2200, 1), 'extrapolatedCalls'),
      'main 11x 0ns ( get 10x 1ns )',
    )
  })

  it('are in no tree unless methods may be folded', () => {
    const { merged } = snapshotOf(built('main> 0 main< 9'), { calibration: FREE, nsPerTick: 1 })
    assert.equal(foldsOf(merged), undefined)
    assert.equal(methodFolds(merged).size, 0)
  })
})

describe('methods that are only counted', () => {
  /** Each call of main calls get three times, without a time, and takes 100 ticks. */
  function counting(builder: CctBuilder, times: number, from: number): void {
    for (let at = from; at < from + times * 100; at += 100)
      play(builder, `main> ${at} get+ get+ get+ main< ${at + 100}`)
  }

  it('have all their calls, in their contexts, and the time of those that were timed', () => {
    const builder = new CctBuilder()
    const folding = foldingOf(builder, 0, 2)
    mains(builder, 10, 0)
    folding.change({ ...NONE, counted: [idOf('get')] }, 1000)
    counting(builder, 20, 1000)
    const tree = picture(builder, folding, 3000)
    // What 60 probes of 2 ticks cost is not main's time.
    assert.equal(show(tree), `main 30x ${10 * 94 + 20 * 100 - 60 * 2}ns ( get 30x 60ns )`)
    assert.deepEqual(methodFolds(tree), new Map([[idOf('get'), { extra: 0, counted: 60, state: COUNTED }]]))
    const { calls, counted, totalCalls, totalCounted } = folding.sums(3000)
    assert.deepEqual([calls[idOf('get')], counted[idOf('get')], totalCalls, totalCounted], [30, 60, 60, 60])
  })

  it('are the measure of what follows when they are folded, and go on when they come back', () => {
    const builder = new CctBuilder()
    const folding = foldingOf(builder, 0, 0)
    const get = [idOf('get')]
    counting(builder, 10, 0)
    folding.change({ ...NONE, folded: get }, 1000)
    mains(builder, 10, 1000, false)
    folding.change({ ...NONE, counted: get }, 2000)
    counting(builder, 10, 2000)
    folding.change({ ...NONE, timed: get }, 3000)
    mains(builder, 10, 3000)
    assert.deepEqual(
      methodFolds(picture(builder, folding, 4000)),
      new Map([[idOf('get'), { extra: 30, counted: 60, state: 0 }]]),
    )
  })

  it('have a row also where they have never been timed', () => {
    const builder = new CctBuilder()
    const folding = foldingOf(builder, 0, 0)
    counting(builder, 1, 0)
    play(builder, '@2 main> 0 get+ main< 7')
    assert.equal(show(picture(builder, folding, 200), 'countedCalls'), 'main 2x 0ns ( get 0x 4ns )')
    assert.equal(builder.isCalled(idOf('get')), true)
    builder.reset(200)
    assert.equal(picture(builder, folding, 200).count, 0)
  })

  it('hang below nothing where the stack is not known', () => {
    const builder = built('get+ main> 0 main< 9 get+')
    assert.equal(builder.contexts, 1)
  })
})

describe('sums by method', () => {
  it('are of all contexts and threads, and tell once who calls whom', () => {
    const builder = built(
      'main> 0 get> 10 get< 12 main< 20  @2 other> 100 get> 110 get> 112 get< 115 get< 120 other< 130',
    )
    const folding = foldingOf(builder, 1, 0)
    const sums = folding.sums(200)
    const [main, get, other] = ['main', 'get', 'other'].map(idOf) as [number, number, number]
    assert.deepEqual([sums.calls[main], sums.calls[get], sums.calls[other]], [1, 3, 1])
    assert.deepEqual([sums.ticks[main], sums.ticks[get], sums.ticks[other]], [18, 12, 20])
    assert.equal(sums.totalCalls, 5)
    assert.equal(sums.insideTicks, 50)
    assert.deepEqual([...sums.edges], [main, get, other, get, get, get])
    play(builder, '@1 main> 300 get> 310')
    const later = folding.sums(340)
    assert.deepEqual([...later.edges], [])
    // Two that have not ended: 10 of main, and 30 of get so far
    assert.equal(later.insideTicks, 90)
  })

  it('tell of waiting, of pauses, and that a method has handed work over', () => {
    const builder = built('main> 0 submit 7 main< 100000 @2 begin 7 task> 10 task< 20 begin 0')
    builder.pause(10_000, 30_000)
    play(builder, '@1 main> 200000 adjust 5 main< 200010')
    const { edges, waitTicks, pauseTicks } = foldingOf(builder, 1, 0).sums(300_000)
    assert.deepEqual([...edges], [idOf('main'), 0])
    assert.deepEqual([waitTicks, pauseTicks], [5, 20_000])
  })
})
