import assert from 'node:assert/strict'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, it } from 'vitest'
import { CctBuilder } from '../../src/cct/builder.ts'
import { Course } from '../../src/cct/course.ts'
import { differenceOf } from '../../src/cct/difference.ts'
import { SLOW_BOUNDS, SLOWEST, type SlowWanted, THREW } from '../../src/cct/slow-calls.ts'
import { slowStateOf } from '../../src/cct/slow-times.ts'
import { snapshotOf } from '../../src/cct/snapshot.ts'
import { SLOT_CALLER, SLOT_DETAILS } from '../../src/events/event-layout.ts'
import { enterWord, exitWord } from '../events/fake-target.ts'
import { enter, exit } from '../events/sinks.ts'
import { FULL } from '../support/lane.ts'
import { FREE, idOf, play, show, treeOf } from './notation.ts'

/** Scale of the tests: test:full uses a million contexts, other lanes use an eighth of a million. */
const PART = FULL ? 1 : 1 / 8
const SMALL = { ...SLOW_BOUNDS, keptBytes: 2 ** 21, openElements: 2 ** 18, openBytes: 2 ** 24 }
const BOUNDS = FULL ? SLOW_BOUNDS : SMALL

const COSTS = { innerTicks: 0, outerTicks: 0 }

function keeping(
  threshold: SlowWanted['threshold'],
  builder = new CctBuilder(),
  bounds = SLOW_BOUNDS,
  threw = false,
) {
  const course = new Course()
  const calls = builder.timeRoots(COSTS, course)
  builder.keepSlow({ threshold, threw }, bounds)
  const slow = () => calls.slow ?? assert.fail('slow calls are kept')
  return { builder, calls, course, slow }
}

function collector(): () => void {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc')
}

function arrayMiB(collect: () => void): number {
  collect()
  return process.memoryUsage().arrayBuffers / 2 ** 20
}

describe('slow calls', () => {
  it('slow calls have a common tree, and each of the slowest calls has its own tree', () => {
    const { builder, course, slow } = keeping(50)
    course.tick(1234, 0, 0)
    play(builder, 'root main> 0 fast> 5 fast< 10 main< 20') // 20
    play(builder, 'root main> 100 slow> 110 slow< 170 main< 180') // 80
    play(builder, '@2 root main> 100 slow> 110 slow< 140 main< 150') // 50
    assert.equal(slow().count, 2)
    // 180 - 100 - 60 and 150 - 100 - 30; 60 + 30
    assert.equal(show(treeOf(slow().tree)), 'main 2x 40ns ( slow 2x 90ns )')
    assert.deepEqual(
      slow().slowest.map(({ number, thread, ticks, atMs }) => [number, thread, ticks, atMs]),
      [
        [2, 1, 80, 1234],
        [3, 2, 50, 1234],
      ],
    )
    assert.equal(slow().latest?.number, 3)
    assert.equal(show(treeOf(slow().treeOf(2)!)), 'main 1x 20ns ( slow 1x 60ns )')
    assert.equal(slow().treeOf(4), null)
  })

  it('without a threshold, once a hundred calls have been seen, each later call above p99 counts as slow', () => {
    const { builder, course, slow } = keeping('p99')
    let now = 0
    const call = (ticks: number) => {
      play(builder, `root main> ${now} main< ${now + ticks}`)
      now += ticks + 1
    }
    call(5000)
    for (let i = 0; i < 99; i++) call(100)
    assert.deepEqual([slow().count, slow().knownAtMs], [0, null])
    course.tick(700, 0, 0)
    call(100)
    assert.deepEqual([slow().count, slow().knownAtMs], [0, 700])
    call(4000)
    assert.equal(slow().count, 1)
    assert.equal(slow().thresholdTicks, 101)
    assert.equal(show(treeOf(slow().tree)), 'main 1x 4000ns')
    assert.deepEqual(
      slow().slowest.map((it) => it.ticks),
      [4000], // the call of 5000 ended before p99 was known
    )
  })

  it('a call that began before p99 was known is no slow call, although it ends later', () => {
    const { builder, slow } = keeping('p99')
    play(builder, '@2 root main> 0')
    for (let i = 0; i < 101; i++) play(builder, `@1 root main> ${i * 10} main< ${i * 10 + 5}`)
    play(builder, '@2 main< 100000 root main> 100001 main< 200000')
    assert.deepEqual(
      slow().slowest.map(({ thread, ticks }) => [thread, ticks]),
      [[2, 99_999]],
    )
  })

  it('new rows restart only the common tree: the lists, the counts and the numbering continue, and a call that is open then takes no part', () => {
    const { builder, course, slow } = keeping(50, new CctBuilder(), SLOW_BOUNDS, true)
    play(builder, 'root main> 0 a> 10 a< 70 main< 80 root main> 100')
    builder.threw(0)
    play(builder, 'main< 190 root main> 200')
    assert.deepEqual([slow().treeCount, slow().treeFromMs], [2, null])
    course.tick(1234, 0, 0)
    builder.reset(210, true)
    assert.deepEqual([slow().count, slow().threwCount, slow().latest?.number], [2, 1, 2])
    assert.deepEqual([slow().treeCount, slow().treeFromMs, slow().spans], [0, 1234, []])
    assert.equal(show(treeOf(slow().tree)), '')
    play(builder, 'main< 300 root main> 400 b> 410 b< 475 main< 485')
    assert.deepEqual(
      slow().slowest.map(({ number, ticks }) => [number, ticks]),
      [
        [2, 90],
        [3, 85],
        [1, 80],
      ],
    )
    assert.deepEqual(
      slow().threw.map((it) => it.number),
      [2],
    )
    assert.equal(show(treeOf(slow().treeOf(1)!)), 'main 1x 20ns ( a 1x 60ns )')
    assert.equal(show(treeOf(slow().tree)), 'main 1x 20ns ( b 1x 65ns )')
    assert.deepEqual([slow().count, slow().treeCount, slow().spans.length], [3, 1, 1])
  })

  it('details that a thread writes after new rows belong to its last call before them', () => {
    const { builder, slow } = keeping(50)
    play(builder, 'root main> 0 main< 80')
    builder.reset(90, true)
    builder.value(SLOT_DETAILS, 0, 0)
    builder.value(0, 1, 7)
    builder.value(0, 2, 0)
    assert.deepEqual(slow().slowest[0]?.details?.values, ['7'])
  })

  it('a pause of a call before new rows corrects the call, and not the common tree after them', () => {
    const { builder, slow } = keeping(50)
    play(builder, 'root main> 0 main< 80 root main> 100 main< 190')
    builder.reset(200, true)
    play(builder, 'root main> 300 main< 370')
    slow().correct(0, { at: 10, ticks: 60 }, 20)
    slow().correct(1, { at: 110, ticks: 30 }, 60)
    assert.deepEqual(
      slow().slowest.map(({ number, ticks }) => [number, ticks]),
      [
        [3, 70],
        [2, 60],
      ],
    )
    assert.deepEqual([slow().count, slow().treeCount], [2, 1])
    assert.equal(show(treeOf(slow().tree)), 'main 1x 70ns')
  })

  it('new rows at random times change neither the slowest calls nor their trees, except for calls that are open then', () => {
    const seed = 20261130
    let state = seed
    const random = (below: number): number => {
      state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff
      return Math.floor((state / 0x80000000) * below)
    }
    for (let round = 0; round < 20; round++) {
      const { builder, slow } = keeping(1000)
      const open = new Map<number, { begin: number; isCut: boolean }>()
      const whole: { thread: number; begin: number; ticks: number; isAfter: boolean }[] = []
      let now = 0
      for (let step = 0; step < 300; step++) {
        now += 1 + random(500)
        const thread = 1 + random(3)
        const call = open.get(thread)
        if (random(20) === 0) {
          builder.reset(now, true)
          for (const it of open.values()) it.isCut = true
          for (const it of whole) it.isAfter = false
        } else if (call === undefined) {
          play(builder, `@${thread} root main> ${now} a> ${now + 1}`)
          open.set(thread, { begin: now, isCut: false })
        } else {
          play(builder, `@${thread} a< ${now} main< ${now + 1}`)
          open.delete(thread)
          const { begin, isCut } = call
          if (!isCut && now + 1 - begin >= 1000)
            whole.push({ thread, begin, ticks: now + 1 - begin, isAfter: true })
        }
      }
      const where = `seed ${seed}, round ${round}`
      const slowest = whole.toSorted((a, b) => b.ticks - a.ticks).slice(0, SLOWEST)
      const facts = slow().slowest.map(({ thread, beginTicks, ticks }) => [thread, beginTicks, ticks])
      assert.deepEqual(
        facts.map((it) => it[2]),
        slowest.map((it) => it.ticks),
        where,
      )
      for (const [i, { number }] of slow().slowest.entries()) {
        assert.equal(
          show(treeOf(slow().treeOf(number)!)),
          `main 1x 2ns ( a 1x ${facts[i]![2]! - 2}ns )`,
          where,
        )
        assert.ok(
          whole.some((it) => [it.thread, it.begin, it.ticks].join() === facts[i]!.join()),
          where,
        )
      }
      const after = whole.filter((it) => it.isAfter)
      assert.deepEqual([slow().count, slow().treeCount], [whole.length, after.length], where)
      const sum = after.reduce((all, it) => all + it.ticks - 2, 0)
      const tree =
        after.length === 0
          ? ''
          : `main ${after.length}x ${2 * after.length}ns ( a ${after.length}x ${sum}ns )`
      assert.equal(show(treeOf(slow().tree)), tree, where)
    }
  })

  it('calls that an exception ended are kept, latest first, beside the slow calls, however short they were', () => {
    const { builder, slow } = keeping(50, new CctBuilder(), SLOW_BOUNDS, true)
    const throws = (from: number, to: number, thrown: number) => {
      play(builder, `root main> ${from}`)
      builder.threw(thrown)
      play(builder, `main< ${to}`)
    }
    throws(0, 5, 0)
    play(builder, 'root main> 10 main< 90')
    throws(100, 190, 1)
    throws(200, 203, 0)
    assert.deepEqual(
      slow().threw.map(({ number, ticks, threw }) => [number, ticks, threw]),
      [
        [4, 3, 0],
        [3, 90, 1],
        [1, 5, 0],
      ],
    )
    assert.equal(show(treeOf(slow().treeOf(1)!)), 'main 1x 5ns')
    assert.deepEqual(
      slow().slowest.map(({ ticks, threw }) => [ticks, threw]),
      [
        [90, 1],
        [80, -1],
      ],
    )
    assert.equal(show(treeOf(slow().tree)), 'main 2x 170ns')
    for (let i = 0; i < 2 * THREW; i++) throws(1000 + 10 * i, 1001 + 10 * i, 2)
    assert.deepEqual([slow().threw.length, slow().threwCount], [THREW, 3 + 2 * THREW])
    assert.deepEqual(builder.rootCalls?.state().threw, [
      [2, 20],
      [0, 2],
      [1, 1],
    ])
  })

  it('if slow calls are the calls that an exception ended, they alone are in the common tree', () => {
    const { builder, slow } = keeping('threw', new CctBuilder(), SLOW_BOUNDS, true)
    play(builder, 'root main> 0 main< 900 root main> 1000 a> 1001 a< 1004')
    builder.threw(0)
    play(builder, 'main< 1005')
    assert.deepEqual([slow().count, slow().latest?.number], [1, 2])
    assert.equal(show(treeOf(slow().tree)), 'main 1x 2ns ( a 1x 3ns )')
  })

  it('details that follow a slow call belong to this call, and details of a fast call are ignored', () => {
    const { builder, slow } = keeping(50)
    const text = (slot: number, of: string) => {
      for (let i = 0; i < of.length; i += 2)
        builder.value(slot, 0, of.charCodeAt(i) + (of.charCodeAt(i + 1) || 0) * 2 ** 16)
    }
    play(builder, 'root main> 0 by> 1 by< 79 main< 80')
    builder.value(SLOT_DETAILS, 0, 0)
    text(0, 'a\u001bb')
    builder.value(2, 1, 0xffff_fffe)
    builder.value(2, 2, 0xffff_ffff)
    builder.value(3, 5, 0)
    text(SLOT_CALLER, 'web.Filter.next')
    play(builder, 'root main> 100 main< 101')
    text(0, 'ignored')
    assert.deepEqual(slow().slowest[0]?.details, {
      values: ['a?b', null, '-2', 'null'],
      caller: 'web.Filter.next',
      traceId: null,
    })
    assert.equal(slow().slowest[0]?.first, idOf('by'))
    assert.deepEqual([slow().slowest[0]?.beginTicks, slow().slowest[0]?.endTicks], [0, 80])
  })

  it('a slow call that began before slow calls were requested is in no tree', () => {
    const builder = new CctBuilder()
    const calls = builder.timeRoots(COSTS, new Course())
    play(builder, 'root main> 0 a> 10')
    builder.keepSlow({ threshold: 1, threw: false })
    play(builder, 'a< 20 main< 30  root main> 40 main< 50')
    assert.equal(show(treeOf(calls.slow!.tree)), 'main 1x 10ns')
    assert.equal(calls.slow!.slowest.length, 1)
  })

  it('a reset drops slow calls, and a call that is unfinished at the reset is in no tree', () => {
    const { builder, slow } = keeping(1)
    play(builder, 'root main> 0 main< 10 root main> 20')
    builder.reset(25)
    play(builder, 'main< 30 root main> 40 main< 45')
    assert.equal(show(treeOf(slow().tree)), 'main 1x 5ns')
    assert.equal(slow().count, 1)
    assert.equal(slow().latest?.number, 2) // each call has its own number
  })

  it('times of slow calls exclude pauses that are reported before or after the end of the call', () => {
    const { builder, slow } = keeping(1)
    builder.pause(20_000, 90_000)
    play(builder, 'root main> 10000 main< 110000 root main> 200000 a> 200001 a< 299999 main< 300000')
    builder.pause(210_000, 290_000)
    // 100,000 - 70,000 + 2; 99,998 - 80,000
    assert.equal(show(treeOf(slow().tree)), 'main 2x 30002ns ( a 1x 19998ns )')
    assert.equal(show(treeOf(slow().treeOf(2)!)), 'main 1x 2ns ( a 1x 19998ns )')
    assert.deepEqual(
      slow().slowest.map(({ number, ticks }) => [number, ticks]),
      [
        [1, 30_000],
        [2, 20_000],
      ],
    )
    assert.equal(slow().latest?.ticks, 20_000)
  })

  it('a slow call is removed from the common tree if the call is no longer slow after a pause that was reported late is subtracted', () => {
    const { builder, slow } = keeping(50_000)
    play(builder, 'root main> 0 a> 1 a< 60001 main< 60002') // slow
    play(builder, 'root main> 100000 b> 100001 a> 100002 a< 180002 b< 180003 main< 180004')
    assert.equal(slow().count, 2)
    builder.pause(100_100, 170_100) // leaves 10,004
    assert.equal(slow().count, 1)
    assert.equal(show(treeOf(slow().tree)), 'main 1x 2ns ( a 1x 60000ns )')
    assert.deepEqual([slow().latest?.number, slow().latest?.ticks], [1, 60_002])
    assert.deepEqual(
      slow().slowest.map((it) => it.ticks),
      [60_002],
    )
    builder.pause(10_000, 30_000)
    assert.deepEqual([slow().count, slow().latest], [0, null])
    assert.equal(show(treeOf(slow().tree)), '')
    play(builder, 'root main> 200000 main< 260000')
    assert.deepEqual([slow().count, slow().latest?.number], [1, 3])
  })

  it('a slow call with more events than jfluid keeps is removed from the common tree if the call is no longer slow after a pause is subtracted', () => {
    const { builder, slow } = keeping(400_000)
    builder.thread(1, -1)
    enter(builder, idOf('main'), 0)
    let now = 0
    for (let i = 0; i < 50_000; i++) {
      enter(builder, idOf('a'), ++now)
      exit(builder, idOf('a'), ++now)
    }
    now += 400_000
    exit(builder, idOf('main'), ++now)
    assert.equal(slow().count, 1)
    builder.pause(110_000, 120_000)
    assert.equal(slow().count, 1)
    assert.equal(show(treeOf(slow().tree)), show(treeOf(builder)))
    builder.pause(130_000, 490_000)
    assert.equal(slow().count, 0)
    assert.equal(show(treeOf(slow().tree)), '')
  })

  it('times of slow calls exclude pauses reported before slow calls were requested, or before a reset', () => {
    const builder = new CctBuilder()
    const calls = builder.timeRoots(COSTS, new Course())
    builder.pause(20_000, 90_000)
    builder.keepSlow({ threshold: 1, threw: false })
    play(builder, 'root main> 10000 main< 110000')
    assert.equal(show(treeOf(calls.slow!.tree)), 'main 1x 30000ns')
    builder.pause(210_000, 290_000)
    builder.reset()
    play(builder, 'root main> 200000 main< 300000')
    assert.equal(show(treeOf(calls.slow!.tree)), 'main 1x 20000ns')
  })

  it('if a slow call is no longer slow after a pause is subtracted, the next slowest slow call replaces it', () => {
    for (const threshold of [50_000, 5_000_000]) {
      const { builder, slow } = keeping(threshold)
      let now = 0
      for (let call = 0; call < 12; call++) {
        play(builder, `root main> ${now} main< ${now + 1_000_000}`)
        now += 1_000_001
      }
      for (let thread = 1; thread <= 100; thread++) play(builder, `@${thread} root main> ${now}`)
      for (let thread = 1; thread <= 100; thread++)
        play(builder, `@${thread} main< ${now + 20_002_000 + thread}`)
      assert.ok(slow().slowest.every((it) => it.ticks > 20_000_000))
      builder.pause(now + 1_000, now + 20_001_000)
      assert.deepEqual(
        slow().slowest.map((it) => it.ticks),
        threshold === 50_000 ? Array.from({ length: SLOWEST }, () => 1_000_000) : [],
      )
      for (const { number } of slow().slowest)
        assert.equal(show(treeOf(slow().treeOf(number)!)), 'main 1x 1000000ns')
      assert.equal(slow().count, threshold === 50_000 ? 12 : 0)
    }
  })

  it('a pause during two successive slow calls is subtracted from only one of the calls, in the common tree and in the tree of that call', () => {
    const { builder, slow } = keeping(100_000)
    play(builder, 'root main> 0 main< 110000 root main> 110001 main< 500000')
    builder.pause(60_000, 400_000)
    assert.deepEqual(
      slow().slowest.map((it) => it.ticks),
      [110_000, 100_000],
    )
    assert.equal(show(treeOf(slow().tree)), 'main 2x 210000ns')
    assert.equal(show(treeOf(slow().treeOf(1)!)), 'main 1x 110000ns')
  })

  it('the times of slow calls are unchanged by a pause during a fast call', () => {
    const { builder, slow } = keeping(100_000)
    play(builder, 'root main> 0 main< 110000 root main> 110001 main< 180000')
    builder.pause(90_000, 175_000)
    assert.equal(show(treeOf(slow().tree)), 'main 1x 110000ns')
    assert.equal(slow().slowest[0]?.ticks, 110_000)
  })

  it('slow calls are chosen by their time without pauses, even if pauses are reported late, and the common tree is the sum of the trees of the slow calls', () => {
    const seed = 20261126
    let state = seed
    const random = (below: number): number => {
      state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff
      return Math.floor((state / 0x80000000) * below)
    }
    for (let round = 0; round < 40; round++) {
      const { builder, slow } = keeping(100_000)
      let now = 0
      const pauses: [start: number, end: number][] = []
      const late: [start: number, end: number][] = []
      const times: number[] = []
      const gaps: { readonly call: number; readonly thread: number; from: number; to: number }[] = []
      for (let call = 0; call < 3 * SLOWEST; call++) {
        const thread = 1 + random(2)
        play(builder, `@${thread} root main> ${now}`)
        const began = now
        for (let i = random(4); i >= 0; i--) {
          const entered = now + random(10_000)
          now = entered + 1 + random(4) * random(60_000) + random(10_000)
          if (random(3) === 0) {
            // Gaps may extend over several calls, but do not overlap.
            const start = Math.max(pauses.at(-1)?.[1] ?? 0, entered - random(60_000))
            const pause = [start, start + 1 + random(120_000)] as [number, number]
            pauses.push(pause)
            if (random(3) === 0) builder.pause(...pause)
            else late.push(pause)
          }
          play(builder, `@${thread} ${'abc'[i % 3]}> ${entered} ${'abc'[i % 3]}< ${now}`)
          gaps.push({ call, thread, from: entered, to: now })
        }
        play(builder, `@${thread} main< ${++now}`)
        times.push(now++ - began)
        while (late.length > random(8)) builder.pause(...late.splice(random(late.length), 1)[0]!)
      }
      for (const pause of late.splice(0)) builder.pause(...pause)
      for (const [start, end] of pauses) {
        for (const thread of [1, 2]) {
          const overlap = ({ from, to }: { from: number; to: number }) =>
            Math.min(to, end) - Math.max(from, start)
          const its = gaps.filter((it) => it.thread === thread && it.to - it.from >= 50_000)
          const [most] = its.sort((a, b) => overlap(b) - overlap(a))
          if (most !== undefined && overlap(most) > 0) times[most.call]! -= overlap(most)
        }
      }
      const where = `seed ${seed}, round ${round}`
      const { slowest, tree, count } = slow()
      const still = times.flatMap((it, call) => (it >= 100_000 ? [{ number: call + 1, ticks: it }] : []))
      assert.equal(count, still.length, where)
      assert.equal(slow().latest?.number, still.at(-1)?.number, where)
      assert.deepEqual(
        slowest.map((it) => it.ticks),
        still
          .map((it) => it.ticks)
          .sort((a, b) => b - a)
          .slice(0, SLOWEST),
        where,
      )
      const sum = (of: typeof tree): number => {
        const { metrics } = treeOf(of)
        return (metrics.selfNs ?? []).reduce((a: number, b: number) => a + b, 0)
      }
      for (const { number, ticks } of slowest) {
        assert.equal(ticks, times[number - 1], where)
        assert.equal(sum(slow().treeOf(number)!), ticks, where)
      }
      assert.equal(
        sum(tree),
        still.reduce((all, it) => all + it.ticks, 0),
        where,
      )
    }
  })

  it('the trees of slow calls are consistent although a pause is reported while the trees are built', () => {
    const { builder, slow } = keeping(50_000)
    play(builder, 'root main> 0 main< 90000 root main> 100000 main< 200000')
    let told = 0
    const between = () => {
      if (told++ === 0) builder.pause(110_000, 190_000)
    }
    const { count, slowest, latest } = slowStateOf(
      slow(),
      'everything',
      { calibration: FREE, nsPerTick: 1 },
      () => {},
      between,
    )
    assert.ok(told > 0)
    assert.deepEqual([slow().count, slow().latest?.number], [1, 1])
    assert.deepEqual([count, latest?.number, latest?.ticks], [2, 2, 100_000])
    assert.deepEqual(
      slowest.map((it) => it.ticks),
      [100_000, 90_000],
    )
  })

  it('the time of a slow call equals its tree if the cost of the probes is measured again after the call', () => {
    const costs = { innerTicks: 30, outerTicks: 10 }
    const builder = new CctBuilder()
    const calls = builder.timeRoots(costs, new Course())
    builder.keepSlow({ threshold: 100, threw: false })
    play(builder, 'root main> 0 a> 100 a< 600 main< 1000')
    play(builder, 'root main> 2000 main< 2985')
    Object.assign(costs, { innerTicks: 5, outerTicks: 2 })
    play(builder, 'root main> 4000 a> 4100 a< 4600 main< 4999')
    const { slowest } = slowStateOf(
      calls.slow!,
      'everything',
      { calibration: costs, nsPerTick: 1 },
      () => {},
      () => {},
    )
    const times = slowest.map(({ number, ticks, tree }) => [number, ticks, tree!.metrics.totalNs![0]])
    // 1000 - 2 * 5 - 2, 999 - 2 * 5 - 2 and 985 - 5
    assert.deepEqual(times, [
      [1, 988, 988],
      [3, 987, 987],
      [2, 980, 980],
    ])
  })

  it('threads outside root calls use no memory for slow calls', () => {
    const { builder, slow } = keeping(Number.POSITIVE_INFINITY)
    const collect = collector()
    const before = arrayMiB(collect)
    for (let thread = 1; thread <= 5000; thread++)
      play(builder, `@${thread} root main> ${thread} main< ${thread + 1}`)
    const mib = arrayMiB(collect) - before
    assert.ok(mib < 4, `${mib} MiB`)
    assert.equal(slow().slowest.length, 0)
  })

  it('jfluid limits the memory for slow calls that a pause reported later may still change', () => {
    const collect = collector()
    const { builder, slow } = keeping(1, new CctBuilder(), BOUNDS)
    const before = arrayMiB(collect)
    const calls = Math.round(150 * PART)
    let now = 0
    for (let call = 0; call < calls; call++) {
      builder.thread(1, -1)
      for (let depth = 0; depth < 4000; depth++) enter(builder, idOf('main'), ++now)
      for (let i = 0; i < 65_537; i++) builder.adjust(1)
      now += 65_537
      for (let depth = 0; depth < 4000; depth++) exit(builder, idOf('main'), ++now)
    }
    const mib = arrayMiB(collect) - before
    const bound = BOUNDS.keptBytes / 2 ** 20
    assert.ok(mib > bound / 4 && mib < 2 * bound + 4, `${mib} MiB`)
    assert.equal(slow().count, calls)
  })

  it('the tree of a slow call is complete even if the call has more events than jfluid keeps', () => {
    const { builder, slow } = keeping(1)
    const children = ['a', 'b', 'c'].map(idOf)
    builder.thread(1, -1)
    enter(builder, idOf('main'), 0)
    let now = 0
    for (let i = 0; i < 50_000; i++) {
      enter(builder, children[i % 3]!, ++now)
      exit(builder, children[i % 3]!, ++now)
    }
    exit(builder, idOf('main'), ++now)
    assert.equal(show(treeOf(slow().tree)), show(treeOf(builder)))
    assert.equal(show(treeOf(slow().treeOf(1)!)), show(treeOf(builder)))
    play(builder, `root main> ${now + 1} a> ${now + 2} a< ${now + 3} main< ${now + 4}`)
    assert.equal(show(treeOf(slow().tree)), show(treeOf(builder)))
  })

  it('if a slow call has more events than jfluid keeps, its time still excludes pauses reported before, during and after the call', () => {
    const { builder, slow } = keeping(1)
    let now = 0
    const calls = () => {
      for (let i = 0; i < 50_000; i++) {
        enter(builder, idOf('a'), ++now)
        exit(builder, idOf('a'), ++now)
      }
    }
    const pause = () => {
      builder.pause(now + 10_000, now + 50_000)
      now += 60_000
    }
    builder.thread(1, -1)
    enter(builder, idOf('main'), now)
    pause()
    calls()
    pause()
    calls()
    pause()
    exit(builder, idOf('main'), ++now)
    assert.equal(show(treeOf(slow().treeOf(1)!)), show(treeOf(builder)))
    assert.equal(show(treeOf(slow().tree)), show(treeOf(builder)))
  })

  it('if a slow call has more intervals between events than jfluid keeps, its time still excludes the pauses in each interval', () => {
    // A call with 40,000 children is reported at its end. A call with 140,000 children is processed into its own tree before its end.
    for (const children of [40_000, 140_000]) {
      const { builder, slow } = keeping(1)
      let now = 0
      // All events are in one piece of words. Each child is one interval between events, and the time before each child is another.
      const calls = (name: string, count: number) => {
        const id = idOf(name)
        const words = new Uint32Array(4 * count)
        for (let at = 0; at < words.length; at += 4) {
          now += 120_000
          words.set(enterWord(id, now - 60_000), at)
          words.set(exitWord(id, now), at + 2)
        }
        assert.equal(builder.calls(words, 0, words.length, 0), words.length)
      }
      const pauseInLatest = () => builder.pause(now - 50_000, now - 10_000)
      builder.thread(1, -1)
      enter(builder, idOf('main'), now)
      builder.pause(now + 70_000, now + 110_000)
      calls('before', 1)
      calls('after', 1)
      pauseInLatest()
      calls('many', children)
      pauseInLatest()
      calls('late', 1)
      pauseInLatest()
      calls('many', children)
      exit(builder, idOf('main'), ++now)
      const [all, where] = [show(treeOf(builder)), `${children} children`]
      assert.match(all, /before 1x 20000ns after 1x 20000ns many .* late 1x 20000ns/)
      assert.equal(show(treeOf(slow().treeOf(1)!)), all, where)
      assert.equal(show(treeOf(slow().tree)), all, where)
    }
  })

  it('a slow call whose tree exceeds its limit is counted, and recording continues', () => {
    const { builder, slow } = keeping(1, new CctBuilder(), { ...SLOW_BOUNDS, contexts: 1000 })
    builder.thread(1, -1)
    let now = 0
    const id = idOf('main')
    for (let i = 0; i < 1010; i++) enter(builder, id, ++now)
    // More events than are kept, so the call is processed before its end.
    for (let i = 0; i < 70_000; i++) {
      exit(builder, id, ++now)
      enter(builder, id, ++now)
    }
    for (let i = 0; i < 1010; i++) exit(builder, id, ++now)
    assert.deepEqual([slow().count, slow().dropped, slow().slowest.length], [1, 1, 0])
    play(builder, `root main> ${now + 1} main< ${now + 4}`)
    assert.equal(show(treeOf(slow().tree)), 'main 1x 3ns')
  })

  it('the tree of a slow call with too many contexts is collapsed, and recording continues', () => {
    const [contexts, count] = [4000, 6000]
    const bounded = new CctBuilder({ mostContexts: contexts })
    const { builder, slow } = keeping(1, bounded)
    builder.thread(1, -1)
    let now = 0
    const chain = (from: number, depth: number) => {
      for (let i = 0; i < depth; i++) enter(builder, from + i, ++now)
      for (let i = depth - 1; i >= 0; i--) exit(builder, from + i, ++now)
    }
    for (let call = 0; call < count; call++) {
      builder.root()
      enter(builder, 1, ++now)
      chain(10 + 2 * call, 2)
      exit(builder, 1, ++now)
    }
    assert.ok(slow().tree.moves > 0)
    assert.ok(slow().tree.count <= contexts, `${slow().tree.count} contexts`)
    const sums = (of: CctBuilder) => {
      const { merged } = snapshotOf(of, { calibration: FREE, nsPerTick: 1 })
      return [merged.metrics.calls[0], merged.metrics.totalNs[0]]
    }
    assert.deepEqual(sums(slow().tree), sums(builder))
    assert.deepEqual([slow().count, slow().dropped, sums(slow().tree)[0]], [count, 0, count])

    // A pause that is reported late does not change a call whose contexts may be merged with others.
    const oldest = Math.min(...slow().slowest.map(({ number }) => number))
    assert.ok(oldest < count / 2)
    for (let at = 100; at < now; at += 100) builder.pause(at, at + 1)
    assert.deepEqual(sums(slow().tree)[0], slow().count)

    builder.root()
    chain(1, 5000)
    const [first] = slow().slowest
    assert.equal(slow().treeOf(first!.number)?.count, 5002, 'more than the bound is what one call has')
  })

  it('a slow call whose contexts were collapsed is not removed from the common tree twice', () => {
    const contexts = 4000
    const bounded = new CctBuilder({ mostContexts: contexts })
    const { builder, slow } = keeping(50_000, bounded)
    builder.thread(1, -1)
    let now = 0
    const call = (names: readonly string[]) => {
      play(builder, `root main> ${++now}`)
      for (const name of names) play(builder, `${name}> ${++now} ${name}< ${++now}`) // one piece of words each
      now += 60_000
      play(builder, `main< ${now}`)
    }
    for (let nth = 0; slow().tree.count < contexts - 100; nth++) call([`m${nth}`])
    assert.equal(slow().tree.moves, 0)
    call(Array.from({ length: 500 }, (_, nth) => `n${nth}`))
    assert.ok(slow().tree.moves > 0)
    const { count } = slow()
    const [slowest] = slow().slowest
    builder.pause(now - 59_000, now - 1_000) // with this pause the call was fast
    const { merged } = snapshotOf(slow().tree, { calibration: FREE, nsPerTick: 1 })
    assert.ok(Math.min(...merged.metrics.calls!) >= 0)
    assert.equal(slow().count, count - 1)
    assert.ok(slow().slowest.every((it) => it.number !== slowest!.number && it.ticks > 50_000))
  })

  it('unfinished slow calls share a memory limit, and calls that exceed the limit are only counted', () => {
    const { builder, slow } = keeping(1, new CctBuilder(), BOUNDS)
    const methods = Math.round(1000 * Math.sqrt(PART))
    const words: number[] = []
    for (let i = 0; i < methods; i++) words.push(...enterWord(i + 2, i), ...exitWord(i + 2, i))
    const threads = 4
    let most = 0
    for (let thread = 1; thread <= threads; thread++) {
      builder.thread(thread, -1)
      builder.root()
      enter(builder, 1, 0)
    }
    // All contexts of a call are different; test:full has a million per call.
    for (let outer = 0; outer < methods; outer++) {
      const run = Uint32Array.from([
        ...enterWord(methods + 2 + outer, 0),
        ...words,
        ...exitWord(methods + 2 + outer, methods),
      ])
      for (let thread = 1; thread <= threads; thread++) {
        builder.thread(thread, -1)
        builder.calls(run, 0, run.length, 0)
        most = Math.max(most, slow().openBytes)
      }
    }
    for (let thread = 1; thread <= threads; thread++) {
      builder.thread(thread, -1)
      exit(builder, 1, methods)
    }
    const bound = 4 * BOUNDS.openElements + BOUNDS.openBytes
    assert.ok(most > bound / 2 && most <= 1.04 * bound, `${most} bytes`)
    assert.equal(slow().openBytes, 0)
    assert.equal(slow().count, threads)
    assert.ok(slow().dropped > 0 && slow().dropped < threads, `${slow().dropped} dropped`)
    assert.equal(slow().slowest.length, threads - slow().dropped)
  })

  it('if all calls are slow, the tree of slow calls equals the tree of all calls, for random events', () => {
    const seed = 20261125
    let state = seed
    const random = (below: number): number => {
      state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff
      return Math.floor((state / 0x80000000) * below)
    }
    for (let round = 0; round < 30; round++) {
      const placed = round % 2 !== 0
      const builder = new CctBuilder({ callSites: placed })
      const { calls, slow } = keeping(Number.NEGATIVE_INFINITY, builder)
      const stacks: string[][] = [[], [], []]
      let now = 1000
      for (let step = 0; step < 400; step++) {
        const thread = random(3)
        const stack = stacks[thread]!
        now += random(40) === 0 ? 60_000 : 1 + random(20)
        let text = `@${thread + 1} `
        const kind = random(20)
        if (stack.length === 0 || (kind < 8 && stack.length < 8)) {
          const name = stack.length === 0 ? 'main' : 'abcd'[random(4)]!
          if (stack.length === 0) text += 'root '
          else if (placed !== null) builder.thread(thread + 1, -1)
          text += `${name}> ${now} `
          stack.push(name)
        } else if (kind < 16) text += `${stack.pop()}< ${now} `
        else if (kind < 17) text += `adjust ${random(5)} `
        else if (kind < 18) {
          text += `suspend ${now} resume ${now + 10} `
          now += 10
        } else {
          stack.length = 1 + random(stack.length)
          text += `${stack.at(-1)}^ ${now} `
        }
        play(builder, text.trim())
        if (round % 3 > 0 && random(60) === 0) builder.pause(now - random(50_000), now + random(50_000))
      }
      for (const [thread, stack] of stacks.entries())
        while (stack.length > 0) play(builder, `@${thread + 1} ${stack.pop()}< ${++now}`)
      assert.equal(slow().count, calls.state().count)
      // The children are in the order in which their events were replayed.
      const same = differenceOf(treeOf(builder), treeOf(slow().tree))
      for (const column of ['calls', 'self', 'total'] as const)
        assert.deepEqual(same[column].after, same[column].before, `seed ${seed}, round ${round}, ${column}`)
      for (const { number, ticks } of slow().slowest) {
        const tree = treeOf(slow().treeOf(number)!)
        assert.equal(tree.metrics.calls![0], 1)
        const self = tree.metrics.selfNs!.reduce((a, b) => a + b, 0)
        assert.equal(tree.metrics.totalNs![0], self)
        assert.ok(Math.abs(self - ticks) < 1e-6, `seed ${seed}, ${round}: ${self} and ${ticks}`)
      }
    }
  })
})
