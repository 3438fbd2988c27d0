// Traced calls in a file, in a report and as JSON.

import assert from 'node:assert/strict'
import { describe, expect, it } from 'vitest'
import type { Trace } from '../../src/cct/trace.ts'
import { decodeProfile, encodeProfile } from '../../src/profile/file.ts'
import { jsonPieces } from '../../src/profile/json.ts'
import type { Profile } from '../../src/profile/profile.ts'
import { reportJsonPieces } from '../../src/profile/report/json.ts'
import { reportText } from '../../src/profile/report.ts'
import { Unsound } from '../../src/profile/shape.ts'
import { width } from '../../src/profile/text.ts'
import { packTrace, readTrace, withSoundTrace } from '../../src/profile/trace-file.ts'
import { callOf, traceOf } from './traced.ts'
import { Methods, profileOfTree, treeOf } from './trees.ts'

const methods = new Methods()
const tree = treeOf('main 2x 30ns ( get 1x 15ns find 12x 2ns ) run 1x 13ns', methods)
const FINDS = Array.from({ length: 12 }, (_, i) => `find> ${i * 1e6} find< ${i * 1e6 + 5e5}`).join(' ')

function traced(trace: Trace): Profile {
  return profileOfTree(tree, methods.names, { trace })
}

const two = traceOf(
  methods,
  'main> 0 hand 1 5000000 get> 5000000 get< 20000000 main< 22000000 | run> 6000000 run< 19000000',
  `main> 0 ${FINDS} main< 12000000`,
)

describe('a file with traced calls', () => {
  it('traced calls that are read from a file equal the traced calls that were written', () => {
    const profile = traced({ ...two, cutAfter: 30 })
    assert.deepEqual(decodeProfile(encodeProfile(profile), 'p'), profile)
    const none = traced({ asked: 3, calls: [] })
    assert.deepEqual(decodeProfile(encodeProfile(none), 'p'), none)
  })

  const call = (text: string) => callOf(text, methods)
  it.each([
    ['times of a traced call decrease', call('main> 5 main< 4')],
    ['times of a traced call decrease', call('main> NaN main< NaN')],
    ['has an exit without an entry', call('main> 1 main< 2 main< 3')],
    ['has an entry without an exit', call('main> 1')],
    ['submits a task that does not exist', call('main> 1 hand 1 2 main< 3')],
    ['submits a task that does not exist', call('main> 1 hand 1 2 hand 1 2 main< 3 | run> 2 run< 3')],
    ['submits a task that does not exist', call('main> 1 main< 3 | run> 2 hand 1 2 run< 3')],
    ['has no origin', call('main> 1 main< 3 | run> 2 run< 3')],
    ['track of a traced call is empty', { ...call('main> 1 main< 2'), tracks: [call('').tracks[0]!] }],
    ['has no track', { ...call('main> 1 main< 2'), tracks: [] }],
    ['is none of whole, open, cut', { ...call('main> 1 main< 2'), state: 'half' as 'cut' }],
    [
      'method without a name',
      {
        ...call('main> 1 main< 2'),
        tracks: [{ ...call('main> 1 main< 2').tracks[0]!, events: Int32Array.of(99, 0) }],
      },
    ],
    [
      'as many times as events',
      {
        ...call('main> 1 main< 2'),
        tracks: [{ ...call('main> 1 main< 2').tracks[0]!, times: Float64Array.of(1) }],
      },
    ],
  ])('an invalid traced call in a file is refused with the message: %s', (problem, bad) => {
    const packed = packTrace({ asked: 1, calls: [bad] })
    assert.throws(
      () => readTrace(methods.names.length)(packed, 'trace'),
      (error) => error instanceof Unsound && error.message.includes(problem),
    )
  })

  it('an invalid traced call is omitted with a warning, and everything else is written', () => {
    const empty = { ...call('main> 1 main< 2'), tracks: [call('').tracks[0]!] }
    const [first, second] = two.calls
    const profile = traced({ asked: 3, calls: [first!, empty, second!] })
    const read = decodeProfile(encodeProfile(profile), 'p')
    assert.deepEqual(read.trace, { asked: 3, leftOut: 1, calls: two.calls })
    assert.deepEqual(read.merged, profile.merged)
    assert.deepEqual(read.warnings, [
      ...profile.warnings,
      'traced calls left out because their events are inconsistent (a track of a traced call is empty): 1; please report this',
    ])
    assert.deepEqual(withSoundTrace(profile).warnings, read.warnings)
    assert.equal(withSoundTrace(read), read)
  })
})

describe('the report of traced calls', () => {
  const section = (profile: Profile, options = {}) => {
    const text = reportText(profile, options)
    return text.slice(text.indexOf('\nTraced calls') + 1)
  }

  it('the report lists traced calls with their critical paths, and shows the slowest traced call in order of time', () => {
    expect(section(traced(two))).toMatchInlineSnapshot(`
      "Traced calls, the first 2 of 2 requested
       call      start     total   events  tasks  method, and its thread
          1       0     22.00 ms        7      1  com.acme.App.main  t1
          2   1.000 ms  12.00 ms       26      0  com.acme.App.main  t1

      Call 1, critical path, 3 steps; waits are guessed (--mode locks: measured)
           start     total  % call     calls  method
            0     5.000 ms    22.7            in t1
                  5.000 ms    22.7         1    com.acme.App.main
        5.000 ms  1.000 ms     4.5            (task submitted, not started)
        6.000 ms  13.00 ms    59.1            in t2
                  13.00 ms    59.1         1    com.acme.App.run
        19.00 ms  3.000 ms    13.6            in t1
                  3.000 ms    13.6              com.acme.App.main

      Call 2, critical path, 1 step
           start     total  % call     calls  method
                  12.00 ms   100.0         1  com.acme.App.main
                  6.000 ms    50.0        12    com.acme.App.find

      Call 1, calls in time order
           start     total  % call     calls  method
            0     22.00 ms   100.0         1  com.acme.App.main
        5.000 ms  15.00 ms    68.2         1    com.acme.App.get
        6.000 ms  13.00 ms                    submitted task, in t2
        6.000 ms  13.00 ms    59.1         1  com.acme.App.run
      Another call: jfluid report <file> --trace <call>

      Details
      probes    11.5 ns inside each call (t_I) and 13.3 ns in its caller (t_O),
                removed from all times
      clock     counterTime
      "
    `)
  })

  it('the report shows a single traced call on request', () => {
    expect(reportText(traced(two), { trace: 2 })).toMatchInlineSnapshot(`
      "
      Call 2, started at 1.000 ms in t1, duration 12.00 ms

      Call 2, critical path, 1 step
           start     total  % call     calls  method
                  12.00 ms   100.0         1  com.acme.App.main
                  6.000 ms    50.0        12    com.acme.App.find

      Call 2, calls in time order
           start     total  % call     calls  method
            0     12.00 ms   100.0         1  com.acme.App.main
            0     6.000 ms    50.0        12    com.acme.App.find ×12
      "
    `)
  })

  it('the report marks incomplete traced calls, and says if there is no traced call', () => {
    const [first, second] = two.calls
    const text = section(
      traced({
        asked: 5,
        cutAfter: 30,
        calls: [
          { ...first!, state: 'open' },
          { ...second!, state: 'cut' },
        ],
      }),
    )
    expect(text).toContain('the first 2 of 5 requested; cut after 30 events')
    expect(text).toContain('t1 (open)')
    expect(text).toContain('t1 (cut)')
    expect(section(traced({ asked: 5, calls: [] }))).toMatch(/^Traced calls: no root call began\n/)
    expect(section(traced({ asked: 5, ofSlow: { tooLong: 0 }, calls: [] }))).toMatch(
      /^Traced calls: no slow call ended\n/,
    )
    const slow = { ...two, ofSlow: { tooLong: 1 }, calls: two.calls.map((it) => ({ ...it, slowCall: 34 })) }
    expect(section(traced({ ...slow, asked: 3 }))).toMatch(
      /^Traced calls, the slowest 2 of 3 requested; 1 slow call with too many events not traced\n(.*\n)+?.* \(slow call 34\)\n/,
    )
    expect(section(traced({ asked: 5, leftOut: 2, calls: [] }))).toMatch(
      /^Traced calls: none can be shown, 2 calls left out\n/,
    )
    expect(section(traced({ ...two, asked: 3, leftOut: 1 }))).toContain(
      'Traced calls, 2 of the first 3, 1 left out; 3 requested',
    )
  })

  it('the report of traced calls is never wider than requested', () => {
    const deep = 3000
    const events = new Int32Array(2 * deep).fill(methods.id('a.very.long.package.name.Klass.method'), 0, deep)
    const times = Float64Array.from(events, (_, i) => i * 1e6)
    const thread = {
      id: 1,
      name: 'a thread with a name that is as long as names of threads may be in servers',
    }
    const calls = [{ startNs: 1e12, state: 'cut' as const, tracks: [{ thread, events, times }] }]
    for (const cells of [66, 80, 120]) {
      const text = section(traced({ asked: 1, calls }), { width: cells })
      for (const line of text.split('\n')) expect(width(line), line).toBeLessThanOrEqual(cells)
    }
  })
})

it('the JSON of an export has the events of traced calls, and the JSON of a report does not', () => {
  const [first] = (JSON.parse([...jsonPieces(traced(two))].join('')) as { trace: JsonTrace }).trace.calls
  expect(first!.tracks[1]).toEqual({ id: 2, name: 't2', events: [methods.id('run'), 0], times: [6e6, 19e6] })
  expect(first!.durationNs).toBe(22e6)
  expect(first!.criticalPath.map((it) => [it.track, it.fromNs, it.toNs, it.queuedNs])).toEqual([
    [0, 0, 5e6, 0],
    [1, 6e6, 19e6, 1e6],
    [0, 19e6, 22e6, 0],
  ])
  const report = JSON.parse([...reportJsonPieces(traced(two))].join('')) as { trace: JsonTrace }
  expect(report.trace.calls[0]!.tracks[1]).toEqual({ id: 2, name: 't2' })
  expect(report.trace.calls[0]!.criticalPath).toEqual(first!.criticalPath)
})

interface JsonTrace {
  readonly calls: readonly {
    readonly durationNs: number
    readonly tracks: readonly object[]
    readonly criticalPath: readonly Record<'track' | 'fromNs' | 'toNs' | 'queuedNs', number>[]
  }[]
}
