import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { CctBuilder } from '../../src/cct/builder.ts'
import { Course } from '../../src/cct/course.ts'
import { courseTimes, rootCallTimes } from '../../src/cct/root-calls.ts'
import { play, treeOf } from './notation.ts'

const COSTS = { innerTicks: 0, outerTicks: 0 }

function timed(costs = COSTS, builder = new CctBuilder()) {
  const course = new Course()
  const calls = builder.timeRoots(costs, course)
  /** Returns the durations of all finished calls. */
  const times = (): number[] => {
    const { buckets } = rootCallTimes(calls.state(), 'ns', 1)
    return buckets.flatMap(([from, , count]) => Array<number>(count).fill(from))
  }
  return { builder, calls, course, times }
}

describe('durations of root calls', () => {
  it('durations of root calls are recorded for finished outermost calls of all threads', () => {
    const { builder, calls, times } = timed()
    // Thread 1: 100 (with a recursion), 30, and an unfinished call; thread 2: 70.
    play(builder, 'root main> 0 main> 10 main< 50 main< 100  root main> 200 a> 205 a< 215 main< 230')
    play(builder, '@2 root main> 100 @1 root main> 300 @2 main< 170')
    assert.deepEqual(times(), [30, 70, 100])
    assert.equal(calls.state().sum, 200)
    play(builder, '@1 main< 310')
    assert.deepEqual(times(), [10, 30, 70, 100])
    assert.equal(calls.state().max, 100)
  })

  it('durations of root calls exclude waits for jfluid and the time between SUSPEND and RESUME', () => {
    const { builder, times } = timed()
    play(builder, 'root main> 0 adjust 7 a> 20 a< 30 main< 100') // 100 - 7
    play(builder, 'root main> 200 suspend 220 resume 270 main< 300') // 100 - 50
    play(builder, 'suspend 350 resume 400 root main> 500 main< 510')
    assert.deepEqual(times(), [10, 50, 93])
  })

  it('durations of root calls exclude probe costs: t_I per call and t_O per callee call, in the root and in its callees', () => {
    const { builder, times } = timed({ innerTicks: 2, outerTicks: 3 })
    // 2 for main itself, 2 + 3 each for a and b: 100 - 12
    play(builder, 'root main> 0 a> 10 b> 20 b< 30 a< 40 main< 100')
    assert.deepEqual(times(), [88])
  })

  it('a root call whose exit event was lost ends at its latest event', () => {
    const { builder, times } = timed()
    play(builder, 'root main> 0 a> 10 a< 40  root main> 100 main< 120')
    assert.deepEqual(times(), [20, 40])
  })

  it('durations of root calls exclude a redefinition pause, whether the pause is reported before or after the end of the call', () => {
    const { builder, calls, course, times } = timed()
    course.tick(100, 0, 0)
    builder.pause(20_000, 90_000)
    course.pause(70_000)
    play(builder, 'root main> 10000 main< 110000') // 100,000 - 70,000
    play(builder, 'root main> 200000 main< 300000 root main> 400000 main< 400010')
    builder.pause(210_000, 290_000) // 100,000 - 80,000
    assert.deepEqual(
      times().map((it) => Math.round(it / 100) * 100),
      [0, 20_000, 30_000],
    )
    assert.equal(calls.state().sum, 30_000 + 20_000 + 10)
    assert.ok(Math.abs(calls.state().max - 30_000) <= 128, 'the longest is one of them, to 0.4 %')
    const { pauses, paused, calls: perSecond, max } = course.state()
    assert.deepEqual([[...pauses], [...paused], [...perSecond]], [[1], [70_000], [3]])
    assert.ok(Math.abs(max[0]! - 30_000) <= 128)
  })

  it('a reset drops the durations of root calls, and the duration of a root call that is unfinished at the reset is not recorded', () => {
    const { builder, calls, times } = timed()
    play(builder, 'root main> 0 main< 10 root main> 20')
    builder.reset(25)
    play(builder, 'main< 30 root main> 40 main< 45')
    assert.deepEqual(times(), [5])
    assert.equal(calls.state().sum, 5)
  })

  it('durations of root calls are also recorded in a session with call sites', () => {
    const placed = new CctBuilder({ callSites: true })
    const { builder, times } = timed(COSTS, placed)
    play(builder, 'root main> 0 main< 10 root main> 20 a> 21 a< 25 main< 35')
    assert.deepEqual(times(), [10, 15])
  })

  it("durations of root calls sum to the root's total time, for random events", () => {
    const seed = 20261124
    let state = seed
    const random = (below: number): number => {
      state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff
      return Math.floor((state / 0x80000000) * below)
    }
    const costs = { innerTicks: 2, outerTicks: 3 }
    for (let round = 0; round < 50; round++) {
      const { builder, calls } = timed(costs)
      const stacks: string[][] = [[], [], []]
      let now = 1000
      let text = ''
      const pauses: [number, number][] = []
      for (let step = 0; step < 400; step++) {
        const thread = random(3)
        const stack = stacks[thread]!
        now += random(40) === 0 ? 60_000 : 1 + random(20)
        text += ` @${thread + 1} `
        const kind = random(20)
        if (stack.length === 0 || (kind < 8 && stack.length < 8)) {
          const name = stack.length === 0 ? 'main' : 'abcd'[random(4)]!
          if (stack.length === 0) text += 'root '
          text += `${name}> ${now} `
          stack.push(name)
        } else if (kind < 16) text += `${stack.pop()}< ${now} `
        else if (kind < 17) text += `adjust ${random(5)} `
        else if (kind < 18) {
          text += `suspend ${now} resume ${now + 10} `
          now += 10
        } else if (kind < 19) {
          // A handler in one of the callers catches the exception.
          stack.length = 1 + random(stack.length)
          text += `${stack.at(-1)}^ ${now} `
        } else if (stack.length > 2) {
          const lost = stack.pop()
          if (stack.includes(lost!)) stack.push(lost!)
          else text += `${stack.pop()}< ${now} `
        }
        if (random(60) === 0) pauses.push([now - random(50_000), now + random(50_000)])
      }
      for (const [thread, stack] of stacks.entries())
        while (stack.length > 0) text += ` @${thread + 1} ${stack.pop()}< ${++now}`
      const half = Math.floor(pauses.length / 2)
      for (const [from, to] of pauses.slice(0, half)) builder.pause(from, to)
      play(builder, text)
      for (const [from, to] of pauses.slice(half)) builder.pause(from, to)
      const tree = treeOf(builder, costs)
      let total = 0
      let count = 0
      for (let top = 0; top < tree.count; top += tree.size[top]!) {
        total += tree.metrics.totalNs![top]!
        count += tree.metrics.calls![top]!
      }
      const { sum, count: ended } = calls.state()
      assert.equal(ended, count, `seed ${seed}, round ${round}`)
      assert.ok(Math.abs(sum - total) < 1e-6, `seed ${seed}, round ${round}: ${sum} and ${total}`)
    }
  })
})

describe('timeline of a recording', () => {
  it('the timeline has for each second the number and time of finished calls, the number of events, and the waits', () => {
    const { builder, course } = timed()
    play(builder, 'root main> 0 main< 10 root main> 20 main< 50')
    course.tick(999, 4, 1)
    course.tick(1500, 4, 3)
    play(builder, 'root main> 60 main< 160')
    course.tick(3200, 6, 3)
    const times = courseTimes(course.state(), 'ns', 2)
    assert.equal(times.first, 0)
    assert.deepEqual([...times.rootCalls!.calls], [2, 1, 0, 0])
    assert.deepEqual([...times.rootCalls!.mean!], [40, 200, 0, 0])
    assert.deepEqual([...times.rootCalls!.p50], [20, 200, 0, 0])
    assert.deepEqual([...times.rootCalls!.p95], [60, 200, 0, 0])
    assert.deepEqual([...times.rootCalls!.max], [60, 200, 0, 0])
    // Calls that ended before a poll count for the second of the poll.
    assert.deepEqual([...times.events], [4, 2, 0, 0])
    assert.deepEqual([...times.waitNs], [6, 0, 0, 0])
  })

  it('the timeline contains only the latest hour', () => {
    const { builder, course } = timed()
    for (let second = 0; second < 4000; second++) {
      course.tick(second * 1000, second, 0)
      play(builder, `root main> ${second * 10} main< ${second * 10 + 1}`)
    }
    const { first, calls: perSecond } = course.state()
    assert.deepEqual([first, perSecond.length], [400, 3600])
    assert.ok(perSecond.every((it) => it === 1))
    course.tick(20_000_000, 0, 0)
    const later = course.state(10)
    assert.deepEqual([later.first, [...later.calls]], [19_991, Array(10).fill(0)])
  })

  it('the timeline of a recording that counts bytecodes contains no times', () => {
    const { calls, builder, course } = timed()
    play(builder, 'root main> 0 main< 10')
    assert.equal(rootCallTimes(calls.state(), 'bytecodes', 5).max, 10)
    assert.equal(courseTimes(course.state(), null, 5).rootCalls, undefined)
  })
})
