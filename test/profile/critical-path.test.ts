import { describe, expect, it } from 'vitest'
import { criticalSteps, durationNs, pathOf } from '../../src/profile/critical-path.ts'
import { orderedCalls } from '../../src/profile/ordered-calls.ts'
import { callOf } from './traced.ts'
import { Methods } from './trees.ts'

const methods = new Methods()
const nameOf = (id: number) => methods.names[id]!.method
const isWait = (id: number) => nameOf(id) === 'get'

/** Returns steps in the format `t1 0-5`, and `t2 (1) 6-19` for a step that began 1 ns after its submission. */
function steps(text: string, waits: typeof isWait | null = isWait): string {
  const call = callOf(text, methods)
  const found = criticalSteps(call, waits ?? undefined)
  const sum = found.reduce((all, it) => all + it.toNs - it.fromNs + it.queuedNs, 0)
  expect(sum).toBe(durationNs(call))
  return found
    .map((it) => `t${it.track + 1} ${it.queuedNs > 0 ? `(${it.queuedNs}) ` : ''}${it.fromNs}-${it.toNs}`)
    .join(', ')
}

describe('the critical path of a traced call', () => {
  it('the critical path of a call on one thread is one step', () => {
    expect(steps('main> 0 a> 1 a< 2 main< 10')).toBe('t1 0-10')
  })

  it("the critical path includes a task that a thread waited for, from the task's submission to its end", () => {
    expect(steps('main> 0 hand 1 5 get> 5 get< 20 main< 22 | run> 6 run< 19')).toBe(
      't1 0-5, t2 (1) 6-19, t1 19-22',
    )
  })

  it('if a thread waited for several tasks at once, the critical path includes the task that ended last', () => {
    expect(steps('main> 0 hand 1 2 hand 2 3 get> 4 get< 30 main< 31 | a> 5 a< 29 | b> 6 b< 20')).toBe(
      't1 0-2, t2 (3) 5-29, t1 29-31',
    )
  })

  it('if a thread waited for several tasks one after the other, the critical path includes each of these tasks', () => {
    expect(
      steps('main> 0 hand 1 1 get> 1 get< 10 hand 2 12 get> 12 get< 20 main< 21 | a> 2 a< 9 | b> 14 b< 19'),
    ).toBe('t1 0-1, t2 (1) 2-9, t1 9-12, t3 (2) 14-19, t1 19-21')
  })

  it('the critical path includes tasks submitted by other tasks', () => {
    expect(
      steps('main> 0 hand 1 1 get> 1 get< 30 main< 31 | a> 2 hand 2 4 get> 4 get< 28 a< 29 | b> 5 b< 27'),
    ).toBe('t1 0-1, t2 (1) 2-4, t3 (1) 5-27, t2 27-29, t1 29-31')
  })

  it('the critical path excludes tasks that no thread waited for', () => {
    expect(steps('main> 0 hand 1 1 a> 2 a< 20 main< 21 | b> 2 b< 15')).toBe('t1 0-21')
    // The task ended before the wait began.
    expect(steps('main> 0 hand 1 1 a> 2 a< 20 get> 21 get< 22 main< 23 | b> 2 b< 15')).toBe('t1 0-23')
  })

  it('the critical path includes a task that wakes the waiting thread before the task ends', () => {
    expect(steps('main> 0 hand 1 1 get> 2 get< 20 main< 30 | run> 3 run< 25')).toBe(
      't1 0-1, t2 (2) 3-20, t1 20-30',
    )
  })

  it('a task does not precede itself on the critical path', () => {
    // run waits while main runs; main is the root and run's caller
    expect(steps('main> 0 hand 1 1 get> 2 get< 20 main< 30 | run> 3 get> 4 get< 18 run< 19')).toBe(
      't1 0-1, t2 (2) 3-19, t1 19-30',
    )
  })

  it('an interval without calls counts as a wait if waits are not recorded', () => {
    expect(steps('main> 0 hand 1 5 x> 6 x< 7 main< 22 | run> 6 run< 19', null)).toBe(
      't1 0-5, t2 (1) 6-19, t1 19-22',
    )
    expect(steps('main> 0 hand 1 5 x> 6 x< 7 main< 22 | run> 6 run< 25', null)).toBe('t1 0-22')
  })

  it('the critical path through ten thousand tasks has two steps per task, and one more step at the end', () => {
    const tasks = 10_000
    const main = Array.from(
      { length: tasks },
      (_, i) => `hand ${i + 1} ${i * 10 + 1} get> ${i * 10 + 1} get< ${i * 10 + 9}`,
    )
    const runs = Array.from({ length: tasks }, (_, i) => `| run> ${i * 10 + 2} run< ${i * 10 + 8}`)
    const call = callOf(`main> 0 ${main.join(' ')} main< ${tasks * 10} ${runs.join(' ')}`, methods)
    expect(criticalSteps(call, isWait)).toHaveLength(2 * tasks + 1)
  })
})

describe('contents of a step of the critical path', () => {
  const path = (text: string, fromNs = 0, toNs?: number) => {
    const call = callOf(text, methods)
    return pathOf(call, { track: 0, fromNs, toNs: toNs ?? durationNs(call), queuedNs: 0 }).map(
      ({ method, calls, totalNs, selfNs }) => `${nameOf(method)} ${calls}x ${totalNs} self ${selfNs}`,
    )
  }

  it('a step shows the most expensive callee of each level, and ends at a method whose self time is larger', () => {
    expect(
      path('main> 0 a> 0 b> 1 b< 4 c> 4 c< 5 a< 10 d> 10 d< 18 a> 18 b> 18 b< 23 a< 28 main< 30'),
    ).toEqual([
      'main 1x 30 self 2',
      'a 2x 20 self 11', // 10 and 10; of these, b takes 3 and 5, c takes 1
    ])
    expect(path('main> 0 a> 1 a< 2 main< 30')).toEqual(['main 1x 30 self 29'])
  })

  it('a step excludes calls that began before the step', () => {
    expect(path('main> 0 a> 0 a< 8 b> 8 c> 12 c< 19 b< 20 main< 22', 10, 18)).toEqual([
      'main 0x 8 self 0',
      'b 0x 8 self 2',
      'c 1x 6 self 6',
    ])
  })
})

describe('the rows of a traced call in order of time', () => {
  const rows = (text: string) => {
    const { tree, startNs } = orderedCalls(callOf(text, methods).tracks[0]!)
    const depth: number[] = []
    return Array.from(tree.method, (method, i) => {
      depth[i] = tree.parent[i]! < 0 ? 0 : depth[tree.parent[i]!]! + 1
      const { calls, totalNs } = tree.metrics
      return `${'.'.repeat(depth[i]!)}${nameOf(method)} ×${calls![i]} ${totalNs![i]} at ${startNs[i]}`
    })
  }

  it('rows are in order of their first call, and the time of a row is the sum of its self time and its children', () => {
    expect(
      rows('main> 0 open> 1 open< 2 read> 2 parse> 3 parse< 5 read< 6 close> 7 close< 8 main< 9'),
    ).toEqual([
      'main ×1 9 at 0',
      '.open ×1 1 at 1',
      '.read ×1 4 at 2',
      '..parse ×1 2 at 3',
      '.close ×1 1 at 7',
    ])
  })

  it('a loop that calls one or several methods has one row per method', () => {
    expect(rows('main> 0 a> 0 a< 1 a> 2 a< 4 b> 5 b< 6 main< 9')).toEqual([
      'main ×1 9 at 0',
      '.a ×2 3 at 0',
      '.b ×1 1 at 5',
    ])
    const loop = Array.from(
      { length: 50 },
      (_, i) => `a> ${4 * i} x> ${4 * i} x< ${4 * i + 1} a< ${4 * i + 1} b> ${4 * i + 1} b< ${4 * i + 3}`,
    )
    expect(rows(`main> 0 ${loop.join(' ')} c> 200 c< 201 main< 201`)).toEqual([
      'main ×1 201 at 0',
      '.a ×50 50 at 0',
      '..x ×50 50 at 0',
      '.b ×50 100 at 1',
      '.c ×1 1 at 200',
    ])
  })

  it('two calls of a method have separate rows if many other methods are called between the two', () => {
    const others = Array.from({ length: 9 }, (_, i) => `o${i}> ${i + 1} o${i}< ${i + 2}`)
    const found = rows(`main> 0 open> 0 open< 1 ${others.join(' ')} open> 10 open< 12 main< 12`)
    expect(found.filter((it) => it.includes('open'))).toEqual(['.open ×1 1 at 0', '.open ×1 2 at 10'])
  })

  it('rows of a stack 100,000 deep are found without recursion', () => {
    const deep = 100_000
    const events = new Int32Array(2 * deep).fill(methods.id('deep'), 0, deep)
    const times = Float64Array.from(events, (_, i) => i)
    const { tree } = orderedCalls({ events, times })
    expect(tree.size[0]).toBe(deep)
    expect(tree.metrics.totalNs![0]).toBe(2 * deep - 1)
  })
})
