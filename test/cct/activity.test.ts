import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { Activities, ThreadActivity } from '../../src/cct/activity.ts'
import { CctBuilder } from '../../src/cct/builder.ts'
import { enter, exit } from '../events/sinks.ts'
import { idOf, play } from './notation.ts'

const latest = (of: Uint32Array, seconds: number): number[] => [...of.slice(-seconds)]

describe('the recent activity of one thread', () => {
  it('the activity of a thread is the number of events in each completed second, or zero without events', () => {
    const activity = new ThreadActivity()
    activity.add(100, 3)
    activity.add(100, 4)
    activity.add(103, 5)
    assert.deepEqual(latest(activity.before(104), 5), [0, 7, 0, 0, 5])
    assert.deepEqual(latest(activity.before(103), 3), [7, 0, 0])
    assert.deepEqual(latest(activity.before(106), 3), [5, 0, 0])
  })

  it('the activity of a thread covers only the latest minute, after a gap of any length', () => {
    const activity = new ThreadActivity()
    for (const second of [10, 11, 69]) activity.add(second, 1)
    assert.deepEqual(
      [...activity.before(70)].map((it, i) => (it > 0 ? 70 - 59 + i : 0)).filter((it) => it > 0),
      [11, 69],
    )
    activity.add(1_000_000, 2)
    assert.equal(
      activity.before(1_000_001).reduce((a, b) => a + b),
      2,
    )
    assert.equal(
      activity.before(2_000_000).reduce((a, b) => a + b),
      0,
    )
  })
})

describe('the recent activity of all threads', () => {
  it('activity is kept only for threads with recent events', () => {
    const activities = new Activities()
    for (let row = 1; row <= 1000; row++) activities.of(row, 100).add(100, 1)
    activities.of(7, 130).add(130, 2)
    assert.equal(activities.size, 1000)
    activities.of(2000, 160).add(160, 3)
    assert.equal(activities.size, 2)
    assert.deepEqual(latest(activities.before(7, 161), 31), [2, ...Array.from({ length: 30 }, () => 0)])
    assert.deepEqual(latest(activities.before(2000, 161), 1), [3])
    assert.deepEqual(latest(activities.before(3000, 161), 1), [0])
    assert.equal(activities.size, 2) // a read adds no entry
  })

  it('the activity of a thread is recorded again after a long time without events', () => {
    const builder = new CctBuilder()
    builder.nowMs = 1_000
    play(builder, '@1 main> 0 @2 main> 1')
    builder.nowMs = 200_000
    play(builder, '@1 work> 2 work< 3')
    builder.nowMs = 300_000
    play(builder, '@1 work> 4 @2 work> 5 work< 6')
    builder.nowMs = 301_000
    assert.deepEqual(latest(builder.activityOf(1).perSecond, 1), [1])
    assert.deepEqual(latest(builder.activityOf(2).perSecond, 1), [2])
  })
})

describe('the activity of threads in a snapshot', () => {
  it('the activity of a thread shows its number of events and whether the thread is inside a root', () => {
    const builder = new CctBuilder()
    builder.nowMs = 5_000
    play(builder, '@1 main> 0 work> 1 work< 2 @2 main> 3 main< 4')
    builder.nowMs = 6_000
    play(builder, '@1 work> 5')
    builder.nowMs = 7_500
    // Two calls have begun and one has ended; then one more has begun.
    assert.deepEqual(latest(builder.activityOf(1).perSecond, 3), [0, 3, 1])
    assert.equal(builder.activityOf(1).inside, 1)
    assert.deepEqual(latest(builder.activityOf(2).perSecond, 3), [0, 2, 0])
    assert.equal(builder.activityOf(2).inside, 0)
  })

  it('the activity of all virtual threads is summed, since they share a tree', () => {
    const builder = new CctBuilder()
    builder.nowMs = 1_000
    play(builder, '@7.0 main> 0 @8.0 main> 1 main< 2 @9.0 main> 3')
    builder.nowMs = 2_000
    assert.deepEqual(latest(builder.activityOf(0).perSecond, 1), [4])
    assert.equal(builder.activityOf(0).inside, 2)
  })

  it('the activity of a thread starts again from zero after a reset of the counts', () => {
    const builder = new CctBuilder()
    builder.nowMs = 1_000
    play(builder, 'main> 0')
    builder.reset()
    builder.nowMs = 2_000
    assert.deepEqual(latest(builder.activityOf(1).perSecond, 1), [0])
    assert.equal(builder.activityOf(1).inside, 1)
  })

  it('in a session that samples, the activity counts samples, and does not show which threads are inside a root', () => {
    const builder = new CctBuilder()
    builder.nowMs = 1_000
    play(builder, 'main> 0 sample 0 sample 0 sample 0')
    builder.nowMs = 2_000
    play(builder, 'work> 0 sample 0')
    builder.nowMs = 3_000
    const { inside, perSecond } = builder.activityOf(1)
    assert.equal(perSecond.at(-1), 1)
    assert.equal(inside, undefined)
  })

  it('the activity of a thread does not count call site words as events', () => {
    const builder = new CctBuilder({ callSites: true })
    builder.nowMs = 1_000
    play(builder, 'main> 0')
    builder.site(5)
    play(builder, 'work> 1 work< 2')
    builder.nowMs = 2_000
    assert.equal(builder.activityOf(1).perSecond.at(-1), 3)
  })
})

describe('first calls of methods', () => {
  it('the first call of a method is reported once, with the time at which jfluid read the event', () => {
    const builder = new CctBuilder()
    const [main, work] = [idOf('main'), idOf('work')]
    builder.thread(1, -1)
    builder.nowMs = 10
    enter(builder, main, 0)
    builder.nowMs = 12
    enter(builder, work, 1)
    exit(builder, work, 2)
    enter(builder, work, 3)
    assert.deepEqual(builder.takeFirstCalls(), [
      [main, 10],
      [work, 12],
    ])
    exit(builder, work, 4)
    assert.deepEqual(builder.takeFirstCalls(), [])
  })

  it('the time of a first call excludes waits, and first calls are kept only on request', () => {
    const builder = new CctBuilder({ firstMethod: 100 })
    builder.nowMs = 1
    builder.thread(1, -1)
    enter(builder, 100, 0)
    enter(builder, 7, 1)
    assert.deepEqual(builder.takeFirstCalls(), [[100, 1]])
    const unasked = new CctBuilder()
    play(unasked, 'main> 0')
    assert.deepEqual(unasked.takeFirstCalls(), [])
  })
})
