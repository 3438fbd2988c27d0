import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import type { Calibration } from '../../src/base/compensation.ts'
import { CctBuilder } from '../../src/cct/builder.ts'
import { LEAVE, type Trace, traceOf } from '../../src/cct/trace.ts'
import { Tracer } from '../../src/cct/tracer.ts'
import { FREE, idOf, nameOf, play, show, treeOf } from './notation.ts'

function traced(text: string, asked = 1, mostEvents?: number): Tracer {
  const tracer = new Tracer(new CctBuilder(), asked, mostEvents)
  play(tracer, text)
  return tracer
}

/**
 * Returns calls in the format `main> 0 work> 10 work< 40 main< 100`, each track after its thread. `hand 1` shows where track 1 is
 * submitted.
 */
function text({ calls }: Trace<number>): string[] {
  return calls.map(({ state, startNs, tracks }) => {
    const lines = tracks.map(({ thread, events, times }) => {
      const open: string[] = []
      const words = [...events].map((event, i) => {
        if (event > 0) open.push(nameOf(event))
        const name = event > 0 ? `${nameOf(event)}>` : event === LEAVE ? `${open.pop()}<` : `hand ${-event}`
        return `${name} ${Math.round(times[i]! * 1000) / 1000}`
      })
      assert.deepEqual(open, [])
      return `@${thread} ${words.join(' ')}`
    })
    return `${state} ${startNs}: ${lines.join(' ')}`
  })
}

function trace(
  events: string,
  options: { calibration?: Calibration; asked?: number; firstMethod?: number } = {},
) {
  const { calibration = FREE, asked = 1, firstMethod = 1 } = options
  return text(traceOf(traced(events, asked), { calibration, nsPerTick: 1, beginTicks: 0, firstMethod }))
}

/** Returns the total time of each method over all its calls, from a trace of one track. */
function totals({ calls }: Trace<number>): Record<string, number> {
  const sums: Record<string, number> = {}
  for (const { tracks } of calls) {
    for (const { events, times } of tracks) {
      const open: { name: string; since: number }[] = []
      for (const [i, event] of events.entries()) {
        if (event > 0) open.push({ name: nameOf(event), since: times[i]! })
        else if (event === LEAVE) {
          const { name, since } = open.pop()!
          sums[name] = (sums[name] ?? 0) + times[i]! - since
        }
      }
    }
  }
  return sums
}

describe('traced calls', () => {
  it('a traced call keeps its events in order, from the begin of the call', () => {
    assert.deepEqual(trace('root main> 100 a> 110 a< 120 b> 125 a> 130 a< 131 b< 140 main< 150'), [
      'whole 100: @1 main> 0 a> 10 a< 20 b> 25 a> 30 a< 31 b< 40 main< 50',
    ])
  })

  it('the first root calls of all threads are traced, and each traced call is complete', () => {
    const events =
      '@1 root main> 0 @2 root main> 5 @1 a> 7 @3 root main> 8 @2 main< 9 @1 a< 10 main< 11 root main> 20 main< 21'
    assert.deepEqual(trace(events, { asked: 2 }), [
      'whole 0: @1 main> 0 a> 7 a< 10 main< 11',
      'whole 5: @2 main> 0 main< 4',
    ])
    assert.equal(trace(events, { asked: 9 }).length, 4)
  })

  it('traced calls are ordered by their begin, in whatever order threads are read', () => {
    assert.deepEqual(trace('@1 root main> 50 main< 60 @2 root main> 10 main< 20', { asked: 2 }), [
      'whole 10: @2 main> 0 main< 10',
      'whole 50: @1 main> 0 main< 10',
    ])
  })

  it('calls that began before the trace was requested are not traced', () => {
    assert.deepEqual(trace('a> 1 a< 2 main< 3 root main> 10 main< 12'), ['whole 10: @1 main> 0 main< 2'])
  })

  it('a trace does not change the calling context tree', () => {
    const events =
      '@1 root main> 0 a> 10 @2 root main> 12 main< 20 @1 adjust 5 a< 40 main< 50 root main> 60 main< 70'
    const builder = new CctBuilder()
    play(new Tracer(builder, 1), events)
    const plain = new CctBuilder()
    play(plain, events)
    assert.equal(show(treeOf(builder)), show(treeOf(plain)))
  })

  it('an unfinished traced call is marked as open and ends at its latest event', () => {
    assert.deepEqual(trace('root main> 0 a> 4'), ['open 0: @1 main> 0 a> 4 a< 4 main< 4'])
  })

  it('a trace closes frames without an exit event in the same way as the tree, and ignores exit events without a frame', () => {
    assert.deepEqual(trace('root main> 0 a> 1 b> 2 a< 9 c< 10 main< 12'), [
      'whole 0: @1 main> 0 a> 1 b> 2 b< 9 a< 9 main< 12',
    ])
    assert.deepEqual(trace('root main> 0 a> 1 b> 2 main^ 5 c> 6 c< 7 main< 9'), [
      'whole 0: @1 main> 0 a> 1 b> 2 b< 5 a< 5 c> 6 c< 7 main< 9',
    ])
    // The next call of the root ends the frames without exits.
    assert.deepEqual(trace('root main> 0 a> 1 root main> 20 main< 21', { asked: 2 }), [
      'whole 0: @1 main> 0 a> 1 a< 1 main< 1',
      'whole 20: @1 main> 0 main< 1',
    ])
  })

  it('a trace ends at the maximum number of events, and is marked as truncated', () => {
    const tracer = traced('root main> 0 a> 1 a< 2 b> 3 b< 4 main< 5 root main> 9 main< 10', 2, 4)
    const found = traceOf(tracer, { calibration: FREE, nsPerTick: 1, beginTicks: 0 })
    assert.deepEqual(text(found), ['cut 0: @1 main> 0 a> 1 a< 2 b> 3 b< 3 main< 3'])
    assert.equal(found.cutAfter, 6) // four events received, and two added ends
  })

  it('all frames of a trace are closed if the limit of events is reached while several frames are being closed', () => {
    for (const room of [4, 5]) {
      const tracer = traced('root main> 0 a> 1 b> 2 main< 9', 1, room)
      const found = traceOf(tracer, { calibration: FREE, nsPerTick: 1, beginTicks: 0 })
      assert.deepEqual(text(found), ['cut 0: @1 main> 0 a> 1 b> 2 b< 9 a< 9 main< 9'])
    }
  })

  it('after a reset, the next calls are traced', () => {
    const tracer = traced('root main> 0 a> 1')
    tracer.reset()
    play(tracer, 'a< 2 main< 3 root main> 10 main< 14')
    assert.deepEqual(text(traceOf(tracer, { calibration: FREE, nsPerTick: 1, beginTicks: 3 })), [
      'whole 7: @1 main> 0 main< 4',
    ])
  })
})

describe('times in a trace', () => {
  it('the clock of a trace stops while the thread waits for jfluid or is in a class-load hook', () => {
    assert.deepEqual(trace('root main> 0 a> 10 adjust 5 a< 20 suspend 22 resume 30 main< 31'), [
      'whole 0: @1 main> 0 a> 10 a< 15 main< 18', // 20 - 5; 31 - 5 - 8
    ])
  })

  it('trace time excludes redefinitions, whether the redefinition is reported before or after the events', () => {
    const tracer = traced('root main> 0 a> 100 a< 200100 main< 200200')
    tracer.pause(50_000, 150_000)
    assert.deepEqual(text(traceOf(tracer, { calibration: FREE, nsPerTick: 1, beginTicks: 0 })), [
      'whole 0: @1 main> 0 a> 100 a< 100100 main< 100200',
    ])
  })

  it('trace time ignores a redefinition that began after the end of the call', () => {
    const tracer = traced('root main> 0 a> 100 a< 200100 main< 200200')
    tracer.pause(300_000, 400_000)
    assert.deepEqual(tracer.pauses, [])
    for (let i = 0; i < 4096; i++) tracer.pause(200_200 + i, 500_000)
    tracer.pause(50_000, 150_000)
    assert.deepEqual(tracer.pauses, [{ start: 50_000, end: 150_000 }])
  })

  it('trace time excludes several redefinitions reported in any order', () => {
    const tracer = traced('root main> 0 a> 100000 a< 300000 main< 600000')
    for (const [start, end] of [
      [400_000, 500_000],
      [20_000, 30_000],
      [150_000, 160_000],
      [200_000, 240_000],
    ]) {
      tracer.pause(start!, end!)
    }
    assert.deepEqual(text(traceOf(tracer, { calibration: FREE, nsPerTick: 1, beginTicks: 0 })), [
      'whole 0: @1 main> 0 a> 90000 a< 240000 main< 440000',
    ])
  })

  it('the times of recorded trace events do not change when further events arrive', () => {
    const some = Array.from({ length: 10_000 }, (_, i) => `a> ${2 * i + 1} a< ${2 * i + 2}`).join(' ')
    const tracer = traced(`root main> 0 ${some}`)
    const options = { calibration: FREE, nsPerTick: 1, beginTicks: 0 }
    const before = text(traceOf(tracer, options))
    let at = 30_000
    const during = text(
      traceOf(tracer, options, () => {
        if (at > 30_000) play(tracer, `a> ${at++} a< ${at++}`)
        else at++
      }),
    )
    assert.deepEqual(during, before)
    assert.ok(at > 30_002)
  })

  it('trace time excludes probe costs: t_I in the called method, t_O in its caller', () => {
    // main: 10 - 1 - 2, a: 20 - 1, main: 30
    assert.deepEqual(
      trace('root main> 0 a> 10 a< 30 main< 60', { calibration: { innerTicks: 1, outerTicks: 2 } }),
      ['whole 0: @1 main> 0 a> 7 a< 26 main< 56'],
    )
  })

  it('trace time never decreases: a negative interval is subtracted from the next interval', () => {
    // main: 3 - 1 - 2 = 0; a: 2 - 5, which leaves 3 to main: 10 - 3
    assert.deepEqual(
      trace('root main> 0 a> 3 a< 5 main< 15', { calibration: { innerTicks: 1, outerTicks: 2 } }),
      ['whole 0: @1 main> 0 a> 0 a< 1 main< 11'],
    )
    assert.deepEqual(
      trace('root main> 0 a> 8 a< 10 main< 20', { calibration: { innerTicks: 5, outerTicks: 2 } }),
      ['whole 0: @1 main> 0 a> 1 a< 1 main< 8'], // 8-5-2, 2-5, 10-3
    )
  })

  it('the totals of a trace equal the totals of the tree', () => {
    const events =
      'root main> 0 a> 100 b> 120 b< 180 b> 200 b< 260 a< 300 adjust 7 c> 350 b> 351 b< 400 c< 460 main< 600'
    const calibration = { innerTicks: 3, outerTicks: 4 }
    const builder = new CctBuilder()
    const tracer = new Tracer(builder, 1)
    play(tracer, events)
    const found = totals(traceOf(tracer, { calibration, nsPerTick: 1, beginTicks: 0 }))
    const tree = treeOf(builder, calibration)
    const sums: Record<string, number> = {}
    for (let i = 0; i < tree.count; i++) {
      const name = nameOf(tree.method[i])
      sums[name] = (sums[name] ?? 0) + tree.metrics.totalNs[i]
    }
    assert.deepEqual(found, sums)
  })

  it('the time of a wait in a trace includes the calls that the thread makes during the wait', () => {
    const [wait, method] = [idOf('parked'), idOf('method after waits')]
    assert.ok(wait < method)
    const events = 'root later> 0 parked> 10 later> 12 later< 14 parked< 30 later< 31'
    const later = idOf('later')
    assert.ok(later > method)
    assert.deepEqual(trace(events, { firstMethod: method }), [
      'whole 0: @1 later> 0 parked> 10 parked< 30 later< 31',
    ])
  })
})

describe('tasks submitted by a traced call', () => {
  it('a submitted task is shown as a track of the traced call, and the track begins at the submission', () => {
    // The exact time of the submission is unknown. The latest possible time is used, which is the time of main's next event.
    assert.deepEqual(
      trace(
        '@1 root main> 0 submit 7 wait> 10 @2 begin 7 run> 15 a> 16 a< 17 run< 20 begin 0 @1 wait< 25 main< 30',
      ),
      ['whole 0: @1 main> 0 hand 1 10 wait> 10 wait< 25 main< 30 @2 run> 15 a> 16 a< 17 run< 20'],
    )
  })

  it('the submission of a task is not later than the begin of the task', () => {
    assert.deepEqual(trace('@1 root main> 0 submit 7 @2 begin 7 run> 15 run< 20 @1 main< 30'), [
      'whole 0: @1 main> 0 hand 1 15 main< 30 @2 run> 15 run< 20',
    ])
  })

  it('a task stays in the traced call that submitted the task, even after that call has ended and other calls have begun', () => {
    assert.deepEqual(
      trace('@1 root main> 0 submit 7 main< 10 root main> 20 main< 30 @2 begin 7 run> 50 run< 60'),
      ['whole 0: @1 main> 0 hand 1 10 main< 10 @2 run> 50 run< 60'],
    )
  })

  it('a traced task may submit further tasks, and a thread that begins another task leaves its current task', () => {
    assert.deepEqual(
      trace(
        '@1 root main> 0 submit 1 main< 10 @2 begin 1 outer> 20 submit 2 outer< 22 @3 begin 2 inner> 30 inner< 33 begin 9 x> 40 x< 50',
      ),
      ['whole 0: @1 main> 0 hand 1 10 main< 10 @2 outer> 20 hand 2 22 outer< 22 @3 inner> 30 inner< 33'],
    )
  })

  it('a traced call does not show a task that never starts', () => {
    assert.deepEqual(trace('root main> 0 submit 1 submit 2 main< 10 drop 1 drop 2'), [
      'whole 0: @1 main> 0 main< 10',
    ])
  })

  it('a traced call stays open while one of its tasks has not begun', () => {
    assert.deepEqual(trace('root main> 0 submit 1 submit 2 main< 10 drop 1'), ['open 0: @1 main> 0 main< 10'])
    assert.deepEqual(trace('@1 root main> 0 submit 1 main< 10 @2 begin 1 run> 15 submit 2 run< 20 begin 0'), [
      'open 0: @1 main> 0 hand 1 10 main< 10 @2 run> 15 run< 20',
    ])
  })

  it('a dropped task is not shown, even if the thread that dropped the task is read first', () => {
    assert.deepEqual(trace('@1 root main> 0 @2 drop 7 @1 submit 7 main< 10'), [
      'whole 0: @1 main> 0 main< 10',
    ])
  })

  it('a task is not shown if it only submits tasks that are not shown', () => {
    for (const further of ['', '@3 begin 8 submit 9 @2']) {
      assert.deepEqual(
        trace(`@1 root main> 0 submit 7 a> 5 a< 6 @2 begin 7 submit 8 ${further} @1 main< 10`),
        ['open 0: @1 main> 0 a> 5 a< 6 main< 10'],
      )
    }
  })

  it('a task begins at its first method call or submission, on the time axis of the traced call', () => {
    const main = '@1 root main> 1000000 submit 7'
    assert.deepEqual(
      trace(
        `${main} @2 begin 7 submit 8 run> 1000015 run< 1000020 @3 begin 8 a> 1000030 a< 1000031 @1 main< 1000040`,
      ),
      ['whole 1000000: @1 main> 0 hand 1 15 main< 40 @2 hand 2 15 run> 15 run< 20 @3 a> 30 a< 31'],
    )
    assert.deepEqual(trace(`${main} @2 begin 7 submit 8 @3 begin 8 a> 1000030 a< 1000031 @1 main< 1000040`), [
      'whole 1000000: @1 main> 0 hand 1 30 main< 40 @2 hand 2 30 @3 a> 30 a< 31',
    ])
  })

  it('if jfluid stopped the submitting thread, the shown begin of the task is earlier by the duration of that stop', () => {
    // main was stalled for 100 ticks before it submitted the work: all later events are 100 ticks earlier.
    assert.deepEqual(
      trace(
        '@1 root main> 0 adjust 100 a> 110 a< 111 submit 7 b> 112 @2 begin 7 run> 120 run< 130 @1 b< 140 main< 150',
      ),
      ['whole 0: @1 main> 0 a> 10 a< 11 hand 1 12 b> 12 b< 40 main< 50 @2 run> 20 run< 30'],
    )
  })
})
