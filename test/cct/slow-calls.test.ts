import assert from 'node:assert/strict'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, it } from 'vitest'
import { CctBuilder } from '../../src/cct/builder.ts'
import { Course } from '../../src/cct/course.ts'
import { differenceOf } from '../../src/cct/difference.ts'
import { SLOW_BOUNDS, SLOWEST, type SlowThreshold } from '../../src/cct/slow-calls.ts'
import { slowStateOf } from '../../src/cct/slow-times.ts'
import { snapshotOf } from '../../src/cct/snapshot.ts'
import { enterWord, exitWord } from '../events/fake-target.ts'
import { enter, exit } from '../events/sinks.ts'
import { FULL } from '../support/lane.ts'
import { FREE, idOf, play, show, treeOf } from './notation.ts'

/** A scale: test:full uses a million contexts, this file an eighth of them. */
const PART = FULL ? 1 : 1 / 8
const SMALL = { ...SLOW_BOUNDS, keptBytes: 2 ** 21, openElements: 2 ** 18, openBytes: 2 ** 24 }
const BOUNDS = FULL ? SLOW_BOUNDS : SMALL

const COSTS = { innerTicks: 0, outerTicks: 0 }

function keeping(threshold: SlowThreshold, builder = new CctBuilder(), bounds = SLOW_BOUNDS) {
  const course = new Course()
  const calls = builder.timeRoots(COSTS, course)
  builder.keepSlow(threshold, bounds)
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
        [1, 1, 20, 1234],
      ],
    )
    assert.equal(slow().latest?.number, 3)
    assert.equal(show(treeOf(slow().treeOf(2)!)), 'main 1x 20ns ( slow 1x 60ns )')
    assert.equal(show(treeOf(slow().treeOf(1)!)), 'main 1x 15ns ( fast 1x 5ns )')
    assert.equal(slow().treeOf(4), null)
  })

  it('without a threshold, calls above p99 are slow after the first hundred calls', () => {
    const { builder, slow } = keeping('p99')
    let now = 0
    const call = (ticks: number) => {
      play(builder, `root main> ${now} main< ${now + ticks}`)
      now += ticks + 1
    }
    call(5000)
    for (let i = 0; i < 99; i++) call(100)
    assert.equal(slow().count, 0)
    call(100)
    assert.equal(slow().count, 0)
    call(4000)
    assert.equal(slow().count, 1)
    assert.equal(slow().thresholdTicks, 101)
    assert.equal(show(treeOf(slow().tree)), 'main 1x 4000ns')
    assert.deepEqual(
      slow()
        .slowest.slice(0, 3)
        .map((it) => it.ticks),
      [5000, 4000, 100],
    )
    assert.equal(slow().slowest.length, SLOWEST)
  })

  it('slow calls that began before slow calls were requested are in no tree', () => {
    const builder = new CctBuilder()
    const calls = builder.timeRoots(COSTS, new Course())
    play(builder, 'root main> 0 a> 10')
    builder.keepSlow(1)
    play(builder, 'a< 20 main< 30  root main> 40 main< 50')
    assert.equal(show(treeOf(calls.slow!.tree)), 'main 1x 10ns')
    assert.equal(calls.slow!.slowest.length, 1)
  })

  it('a reset drops slow calls, and an unfinished call is in no tree', () => {
    const { builder, slow } = keeping(1)
    play(builder, 'root main> 0 main< 10 root main> 20')
    builder.reset(25)
    play(builder, 'main< 30 root main> 40 main< 45')
    assert.equal(show(treeOf(slow().tree)), 'main 1x 5ns')
    assert.equal(slow().count, 1)
    assert.equal(slow().latest?.number, 2) // each call has its own number
  })

  it('slow calls exclude pauses reported early or late', () => {
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

  it('a slow call is removed from the common tree if a pause reported late makes the call fast', () => {
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
      [60_002, 10_004],
    )
    builder.pause(10_000, 30_000)
    assert.deepEqual([slow().count, slow().latest], [0, null])
    assert.equal(show(treeOf(slow().tree)), '')
    play(builder, 'root main> 200000 main< 260000')
    assert.deepEqual([slow().count, slow().latest?.number], [1, 3])
  })

  it('a slow call with too many events is removed from the common tree if a pause makes the call fast', () => {
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

  it('slow calls exclude pauses reported before the request for slow calls, or before a reset', () => {
    const builder = new CctBuilder()
    const calls = builder.timeRoots(COSTS, new Course())
    builder.pause(20_000, 90_000)
    builder.keepSlow(1)
    play(builder, 'root main> 10000 main< 110000')
    assert.equal(show(treeOf(calls.slow!.tree)), 'main 1x 30000ns')
    builder.pause(210_000, 290_000)
    builder.reset()
    play(builder, 'root main> 200000 main< 300000')
    assert.equal(show(treeOf(calls.slow!.tree)), 'main 1x 20000ns')
  })

  it('if a subtracted pause makes a call fast, the next slowest call replaces it, even below the threshold', () => {
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
        Array.from({ length: SLOWEST }, () => 1_000_000),
      )
      for (const { number } of slow().slowest)
        assert.equal(show(treeOf(slow().treeOf(number)!)), 'main 1x 1000000ns')
      assert.equal(slow().count, threshold === 50_000 ? 12 : 0)
    }
  })

  it('a pause during two calls is subtracted from only one call, in the common tree and in the tree of that call', () => {
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

  it('slow calls keep their time if the pause was in a fast call', () => {
    const { builder, slow } = keeping(100_000)
    play(builder, 'root main> 0 main< 110000 root main> 110001 main< 180000')
    builder.pause(90_000, 175_000)
    assert.equal(show(treeOf(slow().tree)), 'main 1x 110000ns')
    assert.equal(slow().slowest[0]?.ticks, 110_000)
  })

  it('slow calls are chosen after pauses are subtracted, reported early or late, and the common tree equals the sum of the trees of the calls', () => {
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
        [...times].sort((a, b) => b - a).slice(0, SLOWEST),
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

  it('slow calls are consistent although a pause is reported while their trees are built', () => {
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

  it('threads outside root calls use no memory for slow calls', () => {
    const { builder, slow } = keeping(Number.POSITIVE_INFINITY)
    const collect = collector()
    const before = arrayMiB(collect)
    for (let thread = 1; thread <= 5000; thread++)
      play(builder, `@${thread} root main> ${thread} main< ${thread + 1}`)
    const mib = arrayMiB(collect) - before
    assert.ok(mib < 4, `${mib} MiB`)
    assert.equal(slow().slowest.length, SLOWEST)
  })

  it('memory of slow calls that a pause may still change is bounded', () => {
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

  it('slow calls with more events than jfluid keeps have the same trees', () => {
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

  it('slow calls with more events than jfluid keeps exclude pauses reported before, during and after the call', () => {
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

  it('slow calls with more gaps between events than jfluid keeps exclude the pauses in each gap', () => {
    // The first call is reported at its end. The second call is processed into its own tree before its end.
    for (const children of [40_000, 140_000]) {
      const { builder, slow } = keeping(1)
      let now = 0
      // All events are in one piece of words. Each child, and the time before it, is a gap.
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
    builder.pause(now - 59_000, now - 1_000) // with this pause the call was fast
    const { merged } = snapshotOf(slow().tree, { calibration: FREE, nsPerTick: 1 })
    assert.ok(Math.min(...merged.metrics.calls!) >= 0)
  })

  it('unfinished slow calls share a memory limit, and calls above the limit are counted', () => {
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
