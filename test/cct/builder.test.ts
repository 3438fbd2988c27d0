import assert from 'node:assert/strict'
import { describe, expect, it } from 'vitest'
import { CctBuilder } from '../../src/cct/builder.ts'
import { TreeTooLarge } from '../../src/cct/nodes.ts'
import { snapshotOf, VIRTUAL } from '../../src/cct/snapshot.ts'
import { SINKS } from '../../src/measures/sinks.ts'
import { enter, exit } from '../events/sinks.ts'
import { built, cctOf, FREE, idOf, play, show, threadsOf, treeOf } from './notation.ts'

describe('building a calling context tree', () => {
  it("the caller's self time stops at the entry of a callee, and continues at the exit of the callee", () => {
    // main: 10 + 20 + 20 = 50; work: 30 + 20 = 50
    assert.equal(
      show(cctOf('main> 0  work> 10  work< 40  work> 60  work< 80  main< 100')),
      'main 1x 50ns ( work 2x 50ns )',
    )
  })

  it('a method that is called in two contexts has two nodes', () => {
    const cct = cctOf('main> 0  a> 1 c> 2 c< 4 a< 5  b> 6 c> 7 c< 12 b< 14  main< 15')
    assert.equal(show(cct), 'main 1x 3ns ( a 1x 2ns ( c 1x 2ns ) b 1x 3ns ( c 1x 5ns ) )')
  })

  it('each level of a recursion has its own node', () => {
    const cct = cctOf('fib> 0  fib> 1  fib> 2  fib< 4  fib< 5  fib> 6  fib< 9  fib< 10')
    assert.equal(show(cct), 'fib 1x 3ns ( fib 2x 5ns ( fib 1x 2ns ) )')
  })

  it('time between two root calls is charged to no node', () => {
    assert.equal(show(cctOf('root main> 0 main< 10  root main> 1000 main< 1010')), 'main 2x 20ns')
  })

  it('a callee keeps its node if it is called again after calls of other callees', () => {
    const order = 'abcabcbacab'
    let text = 'main> 0 '
    for (let i = 0; i < order.length; i++) text += `${order[i]}> ${2 * i + 1} ${order[i]}< ${2 * i + 2} `
    assert.equal(show(cctOf(`${text} main< 30`)), 'main 1x 19ns ( a 4x 4ns b 4x 4ns c 3x 3ns )')
  })

  it('the builder builds 100,000 contexts below one caller, and a tree 100,000 calls deep', () => {
    const builder = new CctBuilder()
    builder.thread(1, -1)
    enter(builder, 1, 0)
    for (let m = 2; m <= 100_000; m++) {
      enter(builder, m, m)
      exit(builder, m, m)
    }
    for (let depth = 0; depth < 100_000; depth++) enter(builder, 7, 100_001 + depth)
    const tree = treeOf(builder)
    assert.equal(tree.count, 200_000 - 1)
    assert.equal(tree.size[0], tree.count)
    assert.equal(tree.method[tree.count - 1], 100_000)
  })
})

describe('a tree that exceeds its maximum number of nodes', () => {
  it('a tree that exceeds its maximum number of nodes throws an error and keeps its nodes', () => {
    const builder = new CctBuilder({ maxNodes: 4 }) // node 0, the thread's top, and two contexts
    play(builder, 'main> 0  a> 10  a< 15')
    assert.throws(() => play(builder, 'b> 20'), TreeTooLarge)
    assert.throws(() => play(builder, 'b> 20'), /no memory is left .* at 2 contexts/)
    builder.closeOpen(50)
    assert.equal(show(treeOf(builder)), 'main 1x 45ns ( a 1x 5ns )')
  })
})

describe('frames whose exit event was lost', () => {
  it('frames without an exit are closed and counted when a caller exits', () => {
    const builder = built('main> 0  a> 10  b> 20  main< 50  root main> 60 main< 70')
    assert.equal(show(treeOf(builder)), 'main 2x 20ns ( a 1x 10ns ( b 1x 30ns ) )')
    assert.equal(builder.healed, 2)
  })

  it('half of the subtracted probe cost is added back to a frame without an exit', () => {
    const builder = built('main> 0  a> 10  b> 20  main< 50')
    // b ends with the exit of main; main and a have 10 - 4 - 2 + 3
    const pair = { innerTicks: 4, outerTicks: 2 }
    assert.equal(show(treeOf(builder, pair)), 'main 1x 7ns ( a 1x 7ns ( b 1x 26ns ) )')
  })

  it('an exit event without a frame is ignored, and the time before the event is charged to the top frame', () => {
    const builder = built('main> 0  never< 10  main< 50')
    assert.equal(show(treeOf(builder)), 'main 1x 50ns')
    assert.equal(builder.healed, 1)
  })

  it('if a root is entered from code outside all roots, open frames are closed, and the time before the entry is charged to no node', () => {
    const builder = built('main> 0  a> 10  a< 20  b> 30  root  main> 90  main< 95')
    assert.equal(show(treeOf(builder)), 'main 2x 25ns ( a 1x 10ns b 1x 0ns )')
    assert.equal(builder.healed, 2)
  })

  it('an exit event before the first entry event is ignored', () => {
    const builder = built('main< 10  main> 20  main< 30')
    assert.equal(show(treeOf(builder)), 'main 1x 10ns')
  })
})

describe('an exception handler that has caught an exception', () => {
  it('an exception handler closes open callees of its method, and these callees are not counted as repaired frames', () => {
    const builder = built('main> 0  a> 10  b> 20  main^ 50  c> 60 c< 70  main< 90')
    assert.equal(show(treeOf(builder)), 'main 1x 40ns ( a 1x 10ns ( b 1x 30ns ) c 1x 10ns )')
    assert.equal(builder.healed, 0)
  })

  it('an exception handler changes nothing if no callee of its method is open', () => {
    const builder = built('main> 0  a> 10  a< 20  main^ 25  main< 90')
    assert.equal(show(treeOf(builder)), 'main 1x 80ns ( a 1x 10ns )')
  })

  it('an exception handler belongs to the innermost frame of its method', () => {
    assert.equal(
      show(cctOf('f> 0  f> 10  a> 20  f^ 30  b> 40 b< 50  f< 60  f< 70')),
      'f 1x 20ns ( f 1x 30ns ( a 1x 10ns b 1x 10ns ) )',
    )
  })

  it('an exception handler is ignored if its method was not entered, or if the handler runs outside all roots', () => {
    const builder = built('never^ 0  main> 0  a> 10  never^ 15  a< 20  main< 50  main^ 60')
    assert.equal(show(treeOf(builder)), 'main 1x 40ns ( a 1x 10ns )')
    assert.equal(builder.healed, 0)
  })

  it('an exception handler of the method that submitted a task does not end the task', () => {
    const builder = built('root main> 0 submit 5 main< 10  @2 begin 5  main^ 15  a> 20  b> 30  a^ 40  a< 50')
    assert.equal(builder.healed, 0)
    assert.equal(show(treeOf(builder)), 'main 1x 10ns ( a 1x 20ns ( b 1x 10ns ) )')
  })

  it('the cost of a handler probe (half the cost of an entry and exit probe) is subtracted from the method that contains the handler', () => {
    const pair = { innerTicks: 4, outerTicks: 2 } // half of the costs of both probes is 3
    const none = built('main> 0  a> 10  a< 20  main^ 30  main< 50')
    assert.equal(show(treeOf(none, pair)), 'main 1x 31ns ( a 1x 6ns )') // 40 - 4 - 2 - 3
    const one = built('main> 0  a> 10  main^ 30  main< 50')
    assert.equal(show(treeOf(one, pair)), 'main 1x 24ns ( a 1x 16ns )') // as if a had an exit event
    const three = built('main> 0  a> 10  b> 20  c> 30  main^ 40  main< 50')
    // a and b have no exit probe: 10 - 4 - 2 + 3
    assert.equal(show(treeOf(three, pair)), 'main 1x 14ns ( a 1x 7ns ( b 1x 7ns ( c 1x 6ns ) ) )')
  })

  it('the cost of a handler probe counts as warm-up time if the handler ran before the last redefinition, and is dropped by a reset', () => {
    const pair = { innerTicks: 4, outerTicks: 2 }
    const builder = built('main> 0  main^ 20')
    builder.markWarmup()
    play(builder, 'main^ 40  main< 50')
    const tree = treeOf(builder, pair)
    assert.equal(show(tree), 'main 1x 40ns') // 50 - 4 - 2 * 3
    assert.equal(tree.metrics.warmupSelfNs[0], -7) // no time was charged before: 0 - 4 - 3
    builder.reset()
    play(builder, 'main> 60  main< 70')
    assert.equal(show(treeOf(builder, pair)), 'main 1x 6ns')
  })

  it('the tree has only two nodes after an exception handler closed 100,000 frames of one callee, one after the other', () => {
    const builder = new CctBuilder()
    builder.thread(1, -1)
    enter(builder, 1, 0)
    for (let i = 0; i < 100_000; i++) {
      enter(builder, 2, 2 * i)
      builder.caught(1, 2 * i + 1)
    }
    assert.equal(treeOf(builder).count, 2)
  })
})

describe('time excluded from all nodes', () => {
  it("an ADJUST event excludes the wait since the last event from the method's time", () => {
    const builder = built('main> 0  a> 10  adjust 60  a< 100  main< 110')
    assert.equal(show(treeOf(builder)), 'main 1x 20ns ( a 1x 30ns )')
    assert.equal(builder.waitTicks, 60)
  })

  it('if two ADJUST words precede an event, the times of both words are excluded', () => {
    assert.equal(show(cctOf('main> 0  adjust 20  adjust 30  main< 100')), 'main 1x 50ns')
  })

  it('an ADJUST word outside all roots is counted, and changes no time', () => {
    const builder = built('adjust 5  root  main> 10  main< 20')
    assert.equal(show(treeOf(builder)), 'main 1x 10ns')
    assert.equal(builder.waitTicks, 5)
  })

  it('time in the class-load hook, from SUSPEND to RESUME, is excluded from all nodes', () => {
    assert.equal(
      show(cctOf('main> 0  a> 10  suspend 15  resume 75  a< 80  main< 90')),
      'main 1x 20ns ( a 1x 10ns )',
    )
  })

  it('a snapshot charges no time to a frame that is suspended', () => {
    assert.equal(show(treeOf(built('main> 0  suspend 15'), FREE, 1000)), 'main 1x 15ns')
  })
})

describe('trees of several threads in the tree builder', () => {
  it('each thread has its own calling context tree', () => {
    const builder = built('@1 main> 0 @2 main> 5 a> 6 @1 a> 10 @2 a< 16 main< 17 @1 a< 40 main< 50')
    assert.equal(show(treeOf(builder)), 'main 2x 22ns ( a 2x 40ns )')
    assert.deepEqual(threadsOf(builder), [1, 2])
  })

  it('virtual threads share one tree, and each virtual thread keeps its own position in the tree', () => {
    const builder = built(
      '@1 main> 0 @7.0 main> 0 a> 5 @8.0 main> 10 @7.1 a< 15 main< 20 @8.1 main< 30 @1 main< 1',
    )
    assert.equal(show(treeOf(builder)), 'main 3x 31ns ( a 1x 10ns )')
    assert.deepEqual(threadsOf(builder), [1, VIRTUAL])
  })

  it('a thread can be declared virtual before its first event', () => {
    const builder = new CctBuilder()
    builder.markVirtual(70)
    play(builder, '@70 main> 0 main< 5 @3 main> 0 main< 1')
    assert.deepEqual(threadsOf(builder), [VIRTUAL, 3])
    assert.equal(builder.contexts, 2)
  })
})

describe('pauses of redefinitions', () => {
  const ms = 1_000_000
  // a has one long gap, from 1 ms to 9 ms; the pause takes 3 ms of it.
  const calls = `main> 0  a> ${ms}  a< ${9 * ms}  main< ${10 * ms}`
  const without = `main 1x ${2 * ms}ns ( a 1x ${5 * ms}ns )`

  it('a redefinition pause is subtracted if it is reported after the first event that follows the pause', () => {
    const builder = built(calls)
    builder.pause(4 * ms, 7 * ms)
    assert.equal(show(treeOf(builder)), without)
  })

  it('a redefinition pause is subtracted if it is reported before the last event that precedes the pause', () => {
    const builder = new CctBuilder()
    builder.pause(4 * ms, 7 * ms)
    play(builder, calls)
    assert.equal(show(treeOf(builder)), without)
  })

  it('a redefinition pause is subtracted if it is reported between the last event before the pause and the first event after the pause', () => {
    const builder = built(`main> 0  a> ${ms}`)
    builder.pause(4 * ms, 7 * ms)
    assert.equal(show(treeOf(builder, FREE, 9 * ms)), `main 1x ${ms}ns ( a 1x ${5 * ms}ns )`)
    play(builder, `a< ${9 * ms}  main< ${10 * ms}`)
    assert.equal(show(treeOf(builder)), without)
  })

  it('a redefinition pause is subtracted from every thread inside a root, and from no other thread', () => {
    const builder = built(
      `@1 main> 0 main< ${10 * ms}  @2 b> 0 b< ${10 * ms}  @3 c> 0 c< ${ms} c> ${9 * ms} c< ${10 * ms}`,
    )
    builder.pause(4 * ms, 7 * ms)
    assert.equal(show(treeOf(builder)), `main 1x ${7 * ms}ns b 1x ${7 * ms}ns c 2x ${2 * ms}ns`)
  })

  it('a redefinition pause is subtracted once per thread, from the interval between two events that has most of the pause', () => {
    // The pause is reported as 3 to 8 ms. main ran until 3.1 ms, then a was stopped.
    const events = `main> 0  a> 3100000  a< 8200000  main< 8300000`
    const expected = 'main 1x 3200000ns ( a 1x 200000ns )'
    const late = built(events)
    late.pause(3 * ms, 8 * ms)
    assert.equal(show(treeOf(late)), expected)
    const early = new CctBuilder()
    early.pause(3 * ms, 8 * ms)
    play(early, events)
    assert.equal(show(treeOf(early)), expected)
  })

  it('a redefinition pause is not subtracted from a thread whose wait for the redefinition is already subtracted', () => {
    // a runs for 1 ms, then waits 7 ms for its callees; the pause is inside the wait.
    const builder = built(
      `main> 0  a> ${ms}  adjust ${7 * ms}  b> ${9 * ms}  b< ${9 * ms}  a< ${9 * ms}  main< ${9 * ms}`,
    )
    builder.pause(4 * ms, 7 * ms)
    assert.equal(show(treeOf(builder)), `main 1x ${ms}ns ( a 1x ${ms}ns ( b 1x 0ns ) )`)
  })

  it('a redefinition pause between two events of the warm-up is also subtracted from the warm-up time', () => {
    const builder = built(calls)
    builder.markWarmup()
    builder.pause(4 * ms, 7 * ms)
    assert.equal(show(treeOf(builder), 'warmupSelfNs', 'warmupCalls'), without)
  })
})

describe('a tree after the end of warm-up, a reset or the end of recording, and in a snapshot', () => {
  it('warm-up time is the time measured before the end of the warm-up is marked', () => {
    const builder = built('main> 0  a> 10  a< 15')
    builder.markWarmup()
    play(builder, 'a> 20  a< 22  b> 24 b< 25  main< 30')
    const tree = treeOf(builder, { innerTicks: 1, outerTicks: 1 })
    // main: 10 + 5 + 2 + 5 = 22 - 1 - 3; a: 5 + 2 - 2; b: 1 - 1
    assert.equal(show(tree), 'main 1x 18ns ( a 2x 5ns b 1x 0ns )')
    // main: 10 - 1 - 1; a: 5 - 1
    assert.equal(show(tree, 'warmupSelfNs', 'warmupCalls'), 'main 1x 8ns ( a 1x 4ns b 0x 0ns )')
  })

  it('a reset sets all counts to zero and keeps the current stacks', () => {
    const builder = built('main> 0  a> 10  a< 15  b> 20')
    builder.reset()
    assert.equal(treeOf(builder).count, 0)
    play(builder, 'b< 30  b> 35  b< 36  main< 40')
    assert.equal(show(treeOf(builder)), 'main 0x 9ns ( b 1x 11ns )')
    assert.equal(builder.healed, 0)
  })

  it('a reset at a given time drops the time of open frames before that time', () => {
    const builder = built('main> 0')
    builder.reset(70)
    play(builder, 'main< 100')
    assert.equal(show(treeOf(builder)), 'main 0x 30ns')
  })

  it('at the end of the recording, open frames are charged and closed', () => {
    const builder = built('@1 main> 0  a> 10  @2 b> 20 b< 25  @3 c> 5 suspend 7')
    builder.closeOpen(50)
    const closed = 'main 1x 10ns ( a 1x 40ns ) b 1x 5ns c 1x 2ns'
    assert.equal(show(treeOf(builder)), closed)
    assert.equal(show(treeOf(builder, FREE, 100)), closed)
    assert.equal(builder.healed, 0)
  })

  it('a snapshot charges open frames and does not change the builder', () => {
    const builder = built('main> 0  a> 10')
    assert.equal(show(treeOf(builder, FREE, 25)), 'main 1x 10ns ( a 1x 15ns )')
    assert.equal(show(treeOf(builder)), 'main 1x 10ns ( a 1x 0ns )')
    play(builder, 'a< 30 main< 31')
    assert.equal(show(treeOf(builder)), 'main 1x 11ns ( a 1x 20ns )')
    assert.equal(idOf('main') > 0, true)
  })

  it('work on a large tree calls the heartbeat at least every 65,536 nodes or 4 MiB', () => {
    let signs = 0
    const builder = new CctBuilder({ alive: () => signs++ })
    const during = (work: () => void): number => {
      const before = signs
      work()
      return signs - before
    }
    const slices = (nodes: number): number => Math.floor(nodes / 65_536)
    builder.thread(1, -1)
    builder.root()
    enter(builder, 1, 0)
    let copied = 0
    for (let method = 2; builder.count < 600_000; method++) {
      const { ints, count } = builder
      const seen = during(() => enter(builder, method, method))
      if (builder.ints === ints) continue
      // A record has 32 bytes: 4 MiB hold 131,072 records.
      expect(seen).toBeGreaterThanOrEqual(Math.ceil(count / 131_072))
      copied++
    }
    expect(copied).toBeGreaterThan(5)
    const { count } = builder
    expect(during(() => builder.markWarmup())).toBeGreaterThanOrEqual(slices(count))
    // A snapshot has seven loops over all contexts: copy, sweep, rank, sort, link, lay out, sum up.
    const options = { calibration: { innerTicks: 0, outerTicks: 0 }, nsPerTick: 1 }
    expect(during(() => snapshotOf(builder, options, () => signs++))).toBeGreaterThanOrEqual(
      7 * slices(count - 2),
    )
    expect(during(() => builder.reset())).toBeGreaterThanOrEqual(slices(count))
  })
})

describe('samples in the tree builder', () => {
  it('a sample is charged to the current node, and a frame counts as a call only if the previous sample did not have the frame', () => {
    const builder = built(
      'a> 0 b> 0 sample 1 sample 1 unwind 1 c> 0 d> 0 sample 1 unwind 2 sample 1 b> 0 sample 1',
    )
    const options = { sink: SINKS.sample, calibration: FREE, nsPerTick: 1 } as const
    const { merged } = snapshotOf(builder, options)
    assert.equal(show(merged, 'selfSamples'), 'a 1x 1ns ( b 2x 3ns c 1x 0ns ( d 1x 1ns ) )')
    assert.deepEqual([...merged.metrics.totalSamples], [5, 3, 1, 1])
  })

  it('a sample outside all methods is charged to no node, and an UNWIND word with more frames than the stack closes frames up to the root', () => {
    const { merged } = snapshotOf(built('a> 0 sample 1 unwind 9 sample 1'), {
      ...{ sink: SINKS.sample, calibration: FREE, nsPerTick: 1 },
    })
    assert.deepEqual([...merged.metrics.totalSamples], [1])
  })

  it('above the limit of contexts, the contexts with the fewest samples are merged into their callers', () => {
    const builder = new CctBuilder({ executed: true, mostSampled: 24 })
    play(builder, 'main> 0 hot> 0 inner> 0')
    // Thread 2 calls each of 30 methods twice, alternately below `cold` and below `hot`. After each call, thread 1 is sampled in `inner`.
    let samples = 0
    for (let i = 0; i < 60; i++) {
      play(builder, `@2 main> 0 ${i % 2 ? 'hot> 0' : 'cold> 0'} m${i % 30}> 0 sample 1 unwind 3`)
      play(builder, '@1 sample 1')
      samples += 2
    }
    const { merged } = snapshotOf(builder, { sink: SINKS.sample, calibration: FREE, nsPerTick: 1 })
    assert.ok(builder.purged > 10, `${builder.purged} purged`)
    assert.ok(builder.contexts <= 25, `${builder.contexts} contexts`)
    assert.equal(merged.metrics.totalSamples[0], samples)
    // Thread 1 is still in the same context: main, hot, inner with 60 samples.
    const methods = [...merged.method]
    const inner = methods.indexOf(idOf('inner'))
    assert.equal(merged.metrics.selfSamples[inner], 60)
    assert.equal(merged.method[merged.parent[inner]], idOf('hot'))
    play(builder, '@1 unwind 1 last> 0 sample 1')
    const later = snapshotOf(builder, { sink: SINKS.sample, calibration: FREE, nsPerTick: 1 }).merged
    const last = [...later.method].indexOf(idOf('last'))
    assert.equal(later.method[later.parent[last]], idOf('hot'))
    assert.equal(later.metrics.totalSamples[0], samples + 1)
  })
})
