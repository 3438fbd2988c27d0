import { describe, expect, it } from 'vitest'
import { CctBuilder } from '../../src/cct/builder.ts'
import { Course } from '../../src/cct/course.ts'
import { Segments } from '../../src/cct/segments.ts'
import { snapshotOf } from '../../src/cct/snapshot.ts'
import { LEAVE, traceOf } from '../../src/cct/trace.ts'
import { Tracer } from '../../src/cct/tracer.ts'
import { idOf, nameOf, play, show } from './notation.ts'

const calibration = { innerTicks: 3, outerTicks: 2 }
const valueRows = { first: idOf('by=a'), last: idOf('by=b') }
/** The row has the time stamps of the root. Two calls of the root, with one and two calls below the row. */
const CALLS =
  'root main> 0 by=a> 0 work> 10 work< 40 by=a< 100 main< 100  root main> 200 by=b> 200 work> 210 work< 220 work> 230 work< 240 by=b< 250 main< 250'

describe('rows of values', () => {
  it('the time of the root is in the row, which has no probe of its own', () => {
    const builder = new CctBuilder({ valueRows })
    const course = new Course()
    const calls = builder.timeRoots(calibration, course)
    play(builder, CALLS)
    const { merged } = snapshotOf(builder, { calibration, nsPerTick: 1, valueRows })
    // by=a: 70 - 3 (of the root's probe) - 2; work: 30 - 3. by=b: 30 - 3 - 2 * 2; work: 20 - 2 * 3.
    expect(show(merged)).toBe('main 2x 0ns ( by=a 1x 65ns ( work 1x 27ns ) by=b 1x 23ns ( work 2x 14ns ) )')
    expect(show(merged, 'totalNs')).toContain('main 2x 129ns ( by=a 1x 92ns')
    // The durations of root calls sum to the total of the root.
    expect(calls.state().sum).toBe(129)
    expect(builder.methods).toBe(2)
  })

  it('time ranges have the same times as the tree', () => {
    const builder = new CctBuilder({ valueRows })
    builder.timeRoots(calibration, new Course())
    const segments = new Segments(builder, { calibration, isTime: true, countsCalls: false, valueRows })
    builder.segments = segments
    play(builder, CALLS)
    const { method, segments: all } = segments.state(5000, 250)
    const self: Record<string, number> = {}
    for (const { row, self: costs } of all)
      for (const [i, node] of row.entries()) {
        const name = nameOf(method[node]!)
        self[name] = (self[name] ?? 0) + costs[i]!
      }
    expect(self).toEqual({ main: 0, 'by=a': 65, 'by=b': 23, work: 41 })
  })

  it('a traced call has the same times as the tree', () => {
    const tracer = new Tracer(new CctBuilder({ valueRows }), 1)
    play(tracer, CALLS)
    const [call] = traceOf(tracer, { calibration, nsPerTick: 1, beginTicks: 0, valueRows }).calls
    const [{ events, times } = { events: [], times: [] }] = call?.tracks ?? []
    const text = [...events].map((it, i) => `${it === LEAVE ? '<' : nameOf(it)} ${times[i]}`).join('  ')
    expect(text).toBe('main 0  by=a 0  work 5  < 32  < 92  < 92')
  })
})
