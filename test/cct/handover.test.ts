import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { CctBuilder } from '../../src/cct/builder.ts'
import { snapshotOf } from '../../src/cct/snapshot.ts'
import { SINKS } from '../../src/measures/sinks.ts'
import { built, cctOf, FREE, play, show, treeOf } from './notation.ts'

function threadsOf(text: string): string[] {
  const { threads } = snapshotOf(built(text), { calibration: FREE, nsPerTick: 1 })
  return threads.map((t) => `${t.number}: ${show(t.tree)}`)
}

describe('followed tasks', () => {
  const handed =
    '@1 main> 0 send> 10 submit 7 send< 20 main< 30  @2 begin 7 run> 100 work> 101 work< 105 run< 106'

  it('in the tree of all threads, a task is below the context that submitted the task', () => {
    assert.equal(show(cctOf(handed)), 'main 1x 20ns ( send 1x 10ns ( run 1x 2ns ( work 1x 4ns ) ) )')
  })

  it('in the tree of the executing thread, a task is below the path that submitted the task, and that path has no calls and no time', () => {
    assert.deepEqual(threadsOf(handed), [
      '1: main 1x 20ns ( send 1x 10ns )',
      '2: main 0x 0ns ( send 0x 0ns ( run 1x 2ns ( work 1x 4ns ) ) )',
    ])
  })

  it('the total of a node with tasks is the sum over all threads of its self time and its children', () => {
    // send: 10 self and 6 of the other thread; main: 20 and these 16
    assert.equal(
      show(cctOf(handed), 'totalNs'),
      'main 1x 36ns ( send 1x 16ns ( run 1x 6ns ( work 1x 4ns ) ) )',
    )
  })

  it('no outer probe time (t_O) is subtracted from the submitter of a task, since another thread makes the call', () => {
    const calibration = { innerTicks: 1, outerTicks: 2 }
    // main: 20 - 1 - 2 for send; send: 10 - 1, without 2 for run; run: 2 - 1 - 2; work: 4 - 1
    assert.equal(
      show(cctOf(handed, calibration)),
      'main 1x 17ns ( send 1x 9ns ( run 1x -1ns ( work 1x 3ns ) ) )',
    )
  })

  it('calls in a task and the same calls made directly by the submitter share nodes', () => {
    const text =
      '@1 main> 0 run> 1 run< 3 submit 5 main< 4  @2 begin 5 run> 10 run< 13  @1 root main> 20 run> 21 run< 22 main< 23'
    assert.equal(show(cctOf(text)), 'main 2x 4ns ( run 3x 6ns )')
    // main made two of the three calls of run: 4 - 2 - 2*2; run: 6 - 3
    assert.equal(show(cctOf(text, { innerTicks: 1, outerTicks: 2 })), 'main 2x -2ns ( run 3x 3ns )')
  })

  it('the submitting thread may execute its own task', () => {
    const text = '@1 main> 0 submit 5 main< 4  begin 5 run> 10 run< 13  root main> 20 main< 21'
    assert.equal(show(cctOf(text)), 'main 2x 5ns ( run 1x 3ns )')
  })

  it('a task may submit further tasks', () => {
    const text =
      '@1 main> 0 submit 1 main< 9  @2 begin 1 outer> 10 submit 2 outer< 12  @3 begin 2 inner> 20 inner< 23'
    assert.equal(show(cctOf(text)), 'main 1x 9ns ( outer 1x 2ns ( inner 1x 3ns ) )')
    assert.deepEqual(threadsOf(text), [
      '1: main 1x 9ns',
      '2: main 0x 0ns ( outer 1x 2ns )',
      '3: main 0x 0ns ( outer 0x 0ns ( inner 1x 3ns ) )',
    ])
  })

  it('a task that resubmits itself does not deepen the tree', () => {
    let text = '@1 main> 0 submit 1 main< 9'
    for (let k = 1; k <= 50; k++) {
      text += ` @${2 + (k % 2)} begin ${k} run> ${k * 10} submit ${k + 1} run< ${k * 10 + 1}`
    }
    const builder = built(text)
    assert.equal(show(treeOf(builder)), 'main 1x 9ns ( run 1x 1ns ( run 49x 49ns ) )')
    assert.ok(builder.contexts < 10, String(builder.contexts))
  })

  it('two tasks that submit each other do not deepen the tree', () => {
    let text = '@1 main> 0 submit 1 main< 9'
    for (let k = 1; k <= 40; k++) {
      const name = k % 2 === 1 ? 'ping' : 'pong'
      text += ` @2 begin ${k} ${name}> ${k * 10} submit ${k + 1} ${name}< ${k * 10 + 1}`
    }
    assert.equal(show(treeOf(built(text))), 'main 1x 9ns ( ping 1x 1ns ( pong 20x 20ns ( ping 19x 19ns ) ) )')
  })

  it('if a task outside all methods submits another task, the other task is placed where the submitting task was submitted', () => {
    const text = '@1 main> 0 submit 1 main< 9  @2 begin 1 run> 10 run< 11 submit 2 begin 2 run> 20 run< 21'
    assert.equal(show(cctOf(text)), 'main 1x 9ns ( run 2x 2ns )')
  })

  it('time between calls of a task is charged to no node, even while the task is running', () => {
    const builder = built('@1 main> 0 submit 1 main< 9  @2 begin 1 run> 100 run< 101 run> 200 run< 202')
    assert.equal(show(treeOf(builder, FREE, 1000)), 'main 1x 9ns ( run 2x 3ns )')
  })

  it('a task whose SUBMIT event was lost is recorded at the top of the tree, and counted', () => {
    const builder = built('@2 begin 9 run> 10 run< 11')
    assert.equal(show(treeOf(builder)), 'run 1x 1ns')
    assert.deepEqual([builder.orphans, builder.followed, builder.healed], [1, 0, 0])
  })

  it('the origin of a dropped task is deleted', () => {
    const builder = built('@1 main> 0 submit 1 submit 2')
    assert.deepEqual([builder.knows(1), builder.knows(2)], [true, true])
    play(builder, 'drop 1')
    assert.deepEqual([builder.knows(1), builder.knows(2)], [false, true])
  })

  it('a task ends when its thread leaves the task, and calls without an exit event end with the task', () => {
    const builder = built('@1 main> 0 submit 1 main< 9  @2 begin 1 run> 10 begin 0')
    assert.equal(show(treeOf(builder, FREE, 1000)), 'main 1x 9ns ( run 1x 0ns )')
    assert.equal(builder.healed, 0)
  })

  it('frames without an exit are closed in a task in the same way as in a root', () => {
    const builder = built('@1 main> 0 submit 1 submit 2 main< 9  @2 begin 1 run> 10 begin 2 run> 20 run< 21')
    assert.equal(show(treeOf(builder)), 'main 1x 9ns ( run 2x 1ns )')
    assert.equal(builder.healed, 1)
  })

  it('tasks run by virtual threads are in the tree of virtual threads', () => {
    const text = '@1 main> 0 submit 3 main< 9  @5.0 begin 3 run> 10 @6.0 main> 11 @5.1 run< 12 @6.1 main< 13'
    assert.deepEqual(threadsOf(text), ['1: main 1x 9ns', '0: main 1x 2ns ( run 1x 2ns )'])
  })

  it('warm-up time and warm-up calls are recorded for a task, too', () => {
    const builder = built('@1 main> 0 submit 1 main< 9  @2 begin 1 run> 10 run< 13')
    builder.markWarmup()
    play(builder, '@1 main> 20 submit 2 main< 29  @2 begin 2 run> 30 run< 31')
    const tree = treeOf(builder)
    assert.equal(show(tree), 'main 2x 18ns ( run 2x 4ns )')
    assert.equal(show(tree, 'warmupSelfNs', 'warmupCalls'), 'main 1x 9ns ( run 1x 3ns )')
  })

  it('a task can be submitted from a path of 20,000 calls', () => {
    const depth = 20_000
    let text = '@1'
    for (let k = 0; k < depth; k++) text += ` a> ${k}`
    const tree = cctOf(`${text} submit 1 @2 begin 1 b> 1 b< 2`)
    assert.equal(tree.count, depth + 1)
    assert.equal(tree.metrics.totalNs[depth], 1)
  })

  it('the search for the origin of a task ends for any input, even in a tree of samples with merged contexts', () => {
    const small = new CctBuilder({ mostSampled: 8 })
    // The sixth context submits the work. This context is purged together with the other contexts of thread 1, because they have no
    // samples.
    play(small, '@1 a> 0 b> 0 c> 0 d> 0 e> 0 submit 7 unwind 5  @2 begin 7 run> 0 sample 1')
    assert.equal(small.purged, 5)
    // The number of the sixth context is now used for a context below the submitted work.
    play(small, '@2 work> 0 f> 0 g> 0 submit 8 sample 1')
    const { merged } = snapshotOf(small, { sink: SINKS.sample, calibration: FREE, nsPerTick: 1 })
    assert.equal(merged.metrics.totalSamples![0], 2)
  })
})
