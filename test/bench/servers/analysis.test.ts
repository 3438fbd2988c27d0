import { describe, expect, it } from 'vitest'
import {
  bareFigures,
  median,
  othersIn,
  ownTimed,
  p50BySecond,
  parseLoad,
  parseSent,
  profileFacts,
  quantile,
  type Row,
  requestsSent,
  requestsTo,
  rootCallsInRows,
  safepointsIn,
  sessionFigures,
  settledFrom,
  throughput,
  usageIn,
  worstIn,
  worstPrediction,
} from './analysis.mjs'

const BOTH = { narrow: 1, high: 3 }
const HIGH = { narrow: 0, high: 4 }
const asked = (due: number, latency: number, more: { status?: number; calls?: typeof BOTH } = {}) => ({
  ...{ due, latency, status: 200, calls: BOTH, ...more },
})
const counters = (at: number, safepoints: number, safepointMs: number) => ({
  ...{ at, safepoints, safepointMs, metaspaceKb: 1000 + at, classes: 5 },
})
const minute = { begin: 0, end: 60_000 }

describe('output of the load generator', () => {
  it('the output of the load generator is read line by line, and a truncated last line is ignored', () => {
    expect(parseLoad('1000,2.50,200,1,3\n1050,3.00,0,0,4\n1100,4')).toEqual([
      { due: 1000, latency: 2.5, status: 200, calls: BOTH },
      { due: 1050, latency: 3, status: 0, calls: HIGH },
    ])
  })

  it('the output of the load generator may omit the columns that count root calls', () => {
    expect(parseLoad('1000,2.50,200\n')[0].calls).toEqual({ narrow: 0, high: 0 })
  })

  it('the output of the Kafka load generator is read as numbers of messages sent and read', () => {
    expect(parseSent('1000,20,7\n')).toEqual([{ at: 1000, produced: 20, read: 7 }])
  })
})

describe('latencies of requests', () => {
  it('a latency quantile is one of the observed values', () => {
    const values = [5, 1, 4, 2, 3]
    expect(quantile(values, 0.5)).toBe(3)
    expect(quantile(values, 0.99)).toBe(5)
    expect(quantile([], 0.5)).toBeNaN()
    expect(median([4, 1, 2, 3])).toBe(2.5)
  })

  it('the maximum latency includes a request that was due before the time window and answered in the window', () => {
    const requests = [asked(900, 500), asked(100, 500), asked(1100, 30), asked(2000, 9000)]
    expect(worstIn(requests, { begin: 1000, end: 2000 })).toBe(500)
  })

  it('a latency is counted in the second in which its request was due', () => {
    const requests = [asked(0, 10), asked(10, 30), asked(20, 20), asked(2500, 7)]
    expect(p50BySecond(requests, { begin: 0, end: 3900 })).toEqual([20, null, 7])
  })

  it('the settling time ends at the end of the last second in which the median latency exceeds the limit', () => {
    expect(settledFrom([40, 9, 20, 9, 10], 10)).toBe(3)
    expect(settledFrom([9, null, 10], 10)).toBe(0)
    expect(settledFrom([9, 9, 11], 10)).toBeNull()
    expect(settledFrom([], 10)).toBe(0)
  })

  it('throughput is computed from answered requests only', () => {
    const requests = [asked(900, 200), asked(1500, 100), asked(1600, 100, { status: 0 }), asked(2900, 200)]
    expect(throughput(requests, { begin: 1000, end: 3000 })).toBe(1)
  })
})

describe('benchmark runs without jfluid', () => {
  const run = (begin: number, worst: number) =>
    Array.from({ length: 10 }, (_, index) => asked(begin + index * 100, index === 9 ? worst : 4))

  it('figures for several runs without jfluid are medians over the runs, and the figures of each run are kept', () => {
    const windows = [0, 10_000, 20_000].map((begin) => ({ begin, end: begin + 1000 }))
    const bare = bareFigures([...run(0, 50), ...run(10_000, 300), ...run(20_000, 70)], windows, [])
    expect(bare.worstMs).toBe(70)
    expect(bare.p50Ms).toBe(4)
    expect(bare.perSecond).toBe(10)
    expect(bare.unsettled).toBe(0)
    expect(bare.runs.map(({ worstMs }) => worstMs)).toEqual([50, 300, 70])
  })

  it('figures for runs without jfluid contain the share of seconds whose median latency exceeds the limit that applies during sessions', () => {
    const slow = run(1000, 50).map((request) => ({ ...request, latency: 9 }))
    const bare = bareFigures([...run(0, 50), ...slow, ...run(2000, 50)], [{ begin: 0, end: 3000 }], [])
    expect(bare.unsettled).toBeCloseTo(1 / 3)
  })
})

describe('data observed from outside the JVM', () => {
  it("safepoint time is reported as the total increase of the JVM's safepoint counter, and as the largest increase between two readings", () => {
    const seen = [counters(0, 1, 5), counters(100, 3, 10), counters(150, 4, 50), counters(200, 5, 51)]
    expect(safepointsIn(seen, { begin: 50, end: 300 })).toEqual({ count: 2, ms: 41, longestMs: 40 })
    expect(safepointsIn([], minute)).toEqual({ count: 0, ms: 0, longestMs: 0 })
  })

  it('processor time is reported for each process of the benchmark, and in sum for all other processes', () => {
    const at = (time: number, machineMs: number, cpuMs: number) => ({
      ...{ at: time, machineMs, target: { cpuMs, rssMb: time }, load: null, client: null },
    })
    const seen = [at(0, 0, 0), at(1000, 1500, 500), at(2000, 3000, 1000)]
    expect(usageIn(seen, minute, 'target')).toEqual({ share: 0.5, rssMb: 2000 })
    expect(usageIn(seen, minute, 'client')).toBeNull()
    expect(othersIn(seen, minute)).toBe(1)
  })
})

describe('root calls as counted by the load generator', () => {
  const requests = [
    asked(10, 5),
    asked(20, 5, { calls: HIGH }),
    asked(30, 5, { status: 0 }),
    asked(40, 5, { status: 401 }),
    asked(70_000, 5),
  ]

  it('only answered requests are counted as root calls', () => {
    expect(requestsTo('narrow', requests, minute)).toEqual({ least: 2, most: 2 })
    expect(requestsTo('high', requests, minute)).toEqual({ least: 10, most: 10 })
  })

  it('root calls in progress at the start or end of the recording are counted only in the upper bound of the number of root calls', () => {
    const calls = [asked(900, 200), asked(1000, 100), asked(1900, 200), asked(500, 400), asked(2000, 1)]
    expect(requestsTo('narrow', calls, { begin: 1000, end: 2000 })).toEqual({ least: 1, most: 3 })
  })

  it('root calls in Kafka are counted by the messages produced and read', () => {
    const sent = [0, 100, 200, 300, 400].map((at) => ({ at, produced: at / 10, read: at / 100 }))
    expect(requestsSent('narrow', sent, { begin: 100, end: 300 })).toEqual({ least: 20, most: 20 })
    expect(requestsSent('high', sent, { begin: 150, end: 350 })).toEqual({ least: 11, most: 33 })
    expect(requestsSent('narrow', sent, { begin: 150, end: 450 })).toBeNull()
  })
})

describe('figures of a profiling session in the benchmark', () => {
  const bare = bareFigures([asked(0, 10)], [{ begin: 0, end: 1000 }], [])
  const marks = {
    ...{ root: 'A.b', begin: 100_000, recording: 100_300, firstCall: 100_800, ending: 120_000 },
    ...{ exit: 120_400, code: 0, window: { begin: 100_000, end: 122_400 }, says: [], file: 'x' },
    ...{ before: counters(100, 0, 0), after: counters(300, 0, 0) },
  }
  const requests = [
    ...Array.from({ length: 200 }, (_, index) => asked(100_000 + index * 100, index < 30 ? 100 : 10)),
    asked(121_000, 700, { status: 500 }),
  ]
  const figures = sessionFigures(requests, marks, bare, { counters: [], processes: [] })

  it('times of a session are measured from the start of the jfluid command', () => {
    expect(figures.firstCallMs).toBe(800)
    expect(figures.settledFromS).toBe(3)
    expect(figures.p99Ms).toBe(100)
    expect(figures.p99LaterMs).toBe(10)
    expect(figures.perSecondLater).toBeCloseTo(10, 0)
  })

  it('figures of a session include the two seconds after the jfluid process has ended', () => {
    expect(figures.worstMs).toBe(700)
    expect(figures.failed).toBe(1)
    expect(figures.detachMs).toBe(400)
    expect(figures.metaspaceKb).toBe(200)
  })

  it('a figure that needs a root call, a session end or a jfluid process is null if this event or process is missing', () => {
    const cut = { ...marks, firstCall: null, ending: null }
    const { firstCallMs, detachMs, clientShare } = sessionFigures(requests, cut, bare, {
      counters: [],
      processes: [],
    })
    expect([firstCallMs, detachMs, clientShare]).toEqual([null, null, null])
  })
})

describe('facts and assessment of a profile in the benchmark', () => {
  it('facts of a profile contain the recording time and the number of root calls in its rows', () => {
    const facts = profileFacts(
      {
        ...{ startedAt: '1970-01-01T00:00:01.000Z', durationMs: 500, warmupMs: 20, events: { waitMs: 3 } },
        instrumentation: {
          ...{
            instrumentedMethods: 5,
            calledMethods: 4,
            redefinitions: 3,
            redefinedClasses: 2,
            longestPauseMs: 1,
          },
        },
        merged: [
          { class: 'a.B', calls: 7, selfNs: 1, children: [] },
          { class: 'a.B', calls: 2, selfNs: 1, children: [] },
        ],
      },
      'a.',
    )
    expect(facts).toMatchObject({ recorded: { begin: 1000, end: 1500 }, rootCalls: 9, restoredMs: null })
  })

  it('the assessment of a profile compares the root calls in rows with the root calls that the load generator counted', () => {
    expect(rootCallsInRows({ inRows: 90, dark: 0, counted: { least: 100, most: 110 } })).toBe(0.9)
    expect(rootCallsInRows({ inRows: 90, dark: 10, counted: { least: 100, most: 110 } })).toBe(1)
    expect(rootCallsInRows({ inRows: 105, dark: 0, counted: { least: 100, most: 110 } })).toBe(1)
    expect(rootCallsInRows({ inRows: 220, dark: 0, counted: { least: 100, most: 110 } })).toBe(2)
    expect(rootCallsInRows({ inRows: 90, dark: 0, counted: null })).toBeNull()
  })

  it('the assessment of a profile uses the pause prediction with the largest error, whether too high or too low', () => {
    const pauses = [
      { predictedMs: 50, measuredMs: 40 },
      { predictedMs: 50, measuredMs: 100 },
    ]
    expect(worstPrediction(pauses)).toBe(0.5)
    expect(worstPrediction([])).toBeNull()
  })

  it('the assessment of a profile uses the share of time inside timed application methods', () => {
    const row = (name: string, known: 'timed' | 'sampled', selfNs: number, ...children: Row[]): Row => ({
      ...{ class: name, calls: known === 'timed' ? 1 : 0, known, selfNs, children },
    })
    const library = row('java.util.HashMap', 'sampled', 30)
    const tree = [
      row('own.Root', 'timed', 1_000, row('own.A', 'timed', 20, library), row('lib.B', 'timed', 500)),
      row('own.Root', 'timed', 0, row('own.C', 'sampled', 10, library)),
    ]
    expect(ownTimed(tree, 'own.')).toBeCloseTo(50 / 90)
    expect(ownTimed([row('own.Root', 'timed', 5)], 'own.')).toBeNull()
    const proxied = row('own.A', 'timed', 5, row('own.$Proxy7', 'sampled', 5))
    expect(ownTimed([row('own.Root', 'timed', 5, proxied)], 'own.')).toBe(1)
  })
})
