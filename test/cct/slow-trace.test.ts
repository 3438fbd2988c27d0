import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { CctBuilder } from '../../src/cct/builder.ts'
import { Course } from '../../src/cct/course.ts'
import { slowTraceOf } from '../../src/cct/trace.ts'
import { FREE, nameOf, play } from './notation.ts'

const OPTIONS = { calibration: FREE, nsPerTick: 1, beginTicks: 0 }

function keeping(threshold: number | 'threw') {
  const builder = new CctBuilder()
  const calls = builder.timeRoots({ innerTicks: 0, outerTicks: 0 }, new Course())
  builder.keepSlow({ threshold, threw: false })
  return { builder, slow: calls.slow ?? assert.fail('slow calls are kept') }
}

/** Returns the number, the start and the events of each call: "2 at 100: main> 0 a> 5 < 20 < 30". */
function shown({ calls }: ReturnType<typeof slowTraceOf>): string[] {
  return calls.map(({ slowCall, startNs, tracks }) => {
    const { events, times } = tracks[0]!
    const text = [...events].map((it, i) => `${it > 0 ? `${nameOf(it)}>` : '<'} ${times[i]}`)
    return `${slowCall} at ${startNs}: ${text.join(' ')}`
  })
}

describe('traces of slow calls', () => {
  it('the slowest calls are traced in the order in which they began, and not the first calls', () => {
    const { builder, slow } = keeping(50)
    play(builder, 'root main> 0 a> 5 a< 10 main< 20') // fast
    play(builder, 'root main> 100 a> 105 a< 150 main< 160') // slow: 60
    play(builder, '@2 root main> 200 b> 210 b< 290 main< 300') // slow: 100
    play(builder, 'root main> 400 c> 401 main< 480') // slow: 80
    const trace = slowTraceOf(slow, 2, OPTIONS)
    assert.deepEqual(shown(trace), ['3 at 200: main> 0 b> 10 < 90 < 100', '4 at 400: main> 0 c> 1 < 80 < 80'])
    assert.deepEqual([trace.asked, trace.ofSlow], [2, { tooLong: 0 }])
  })

  it('a slower call replaces a traced call that is faster', () => {
    const { builder, slow } = keeping(50)
    play(builder, 'root main> 0 main< 60')
    assert.deepEqual(shown(slowTraceOf(slow, 1, OPTIONS)), ['1 at 0: main> 0 < 60'])
    play(builder, 'root main> 100 main< 170')
    assert.deepEqual(shown(slowTraceOf(slow, 1, OPTIONS)), ['2 at 100: main> 0 < 70'])
  })

  it('a trace without a slow call has no calls', () => {
    const { builder, slow } = keeping(50)
    play(builder, 'root main> 0 main< 10')
    assert.deepEqual(slowTraceOf(slow, 3, OPTIONS), { asked: 3, calls: [], ofSlow: { tooLong: 0 } })
  })

  it('a pause is subtracted from a trace once per call, from the gap from which the tree subtracts it', () => {
    const { builder, slow } = keeping(50)
    play(builder, '@1 root main> 0 a> 100000 a< 300000 main< 400000')
    play(builder, '@2 root main> 50000 b> 110000 b< 310000 main< 400000')
    builder.pause(120_000, 220_000)
    assert.deepEqual(shown(slowTraceOf(slow, 2, OPTIONS)), [
      '1 at 0: main> 0 a> 100000 < 200000 < 300000',
      '2 at 50000: main> 0 b> 60000 < 160000 < 250000',
    ])
    assert.deepEqual(
      slow.slowest.map((it) => it.ticks),
      [300_000, 250_000],
    )
  })

  it('a call with more events than its log holds has no trace, and is counted', () => {
    const { builder, slow } = keeping(50)
    const many = Array.from({ length: 140_000 }, (_, i) => `a> ${2 * i + 1} a< ${2 * i + 2}`).join(' ')
    play(builder, `root main> 0 ${many} main< 300000`)
    play(builder, 'root main> 400000 main< 400060')
    const trace = slowTraceOf(slow, 2, OPTIONS)
    assert.deepEqual(shown(trace), ['2 at 400000: main> 0 < 60'])
    assert.deepEqual(trace.ofSlow, { tooLong: 1 })
  })
})
