import { describe, expect, it } from 'vitest'
import {
  batchPauseMs,
  classesWithin,
  compiledSince,
  predictedPauseMs,
  refittedSlowness,
  tookTooLong,
} from '../../../src/session/adaptive/pause.ts'
import {
  BRAKE,
  type Counted,
  callsForOneTimed,
  idleProbesOverBudget,
  isShort,
  mayChooseWhileCold,
  meanCallNs,
  overBudget,
  SURGE,
  samplesNeeded,
  timedWithinBudget,
} from '../../../src/session/adaptive/probe-budget.ts'

/** Facts of roots in which threads spend half a second per second; a call with probes costs 50 ns. */
const COSTS = { nsPerCall: 50, rootNsPerSecond: 500e6, budget: 0.05 }

const counted = (id: number, callsPerSecond: number, share: number): Counted => ({
  id,
  callsPerSecond,
  share,
})

describe('counted methods that become timed', () => {
  it('methods of at least 2 µs per call become timed', () => {
    // Each method has 10 % of half a second: with 10,000 calls 5 µs per call, with 50,000 calls 1 µs per call.
    expect(timedWithinBudget([counted(1, 10_000, 0.1), counted(2, 50_000, 0.1)], COSTS)).toEqual([1])
  })

  it('methods below 2 µs per call are short, and methods without calls are not', () => {
    const means = [10_000, 50_000, 0].map((calls) => counted(1, calls, 0.1))
    expect(means.map((it) => meanCallNs(it, COSTS))).toEqual([5_000, 1_000, Number.POSITIVE_INFINITY])
    expect(means.map((it) => isShort(it, COSTS))).toEqual([false, true, false])
    expect(isShort(counted(1, 50_000, 0), COSTS)).toBe(false)
  })

  it('the most informative methods become timed until their cost is half of the budget', () => {
    // Half of the budget is half of 5 % of half a second: 12.5 ms, or 250,000 calls of 50 ns.
    const dense = [counted(1, 140_000, 0.9), counted(2, 100_000, 0.9), counted(3, 120_000, 0.9)]
    expect(timedWithinBudget(dense, COSTS)).toEqual([2, 3])
  })

  it('methods without calls in the last interval become timed, because their probes cost little', () => {
    expect(timedWithinBudget([counted(1, 50_000, 0.1), counted(2, 0, 0.02)], COSTS)).toEqual([2])
  })

  it('methods without samples never become timed', () => {
    expect(timedWithinBudget([counted(1, 0, 0), counted(2, 100, 0)], COSTS)).toEqual([])
  })
})

describe('timed methods that are switched off', () => {
  it('no method is switched off while the total cost is within the limit', () => {
    expect(overBudget([counted(1, 400_000, 0.5)], COSTS, BRAKE)).toEqual([])
  })

  it('the most frequently called methods are switched off until the remaining methods cost half of the budget', () => {
    const timed = [counted(1, 100_000, 0.5), counted(2, 350_000, 0.5), counted(3, 50_000, 0.5)]
    expect(overBudget(timed, COSTS, BRAKE)).toEqual([2])
  })

  it.each([
    [BRAKE, 430_000, 420_000],
    [SURGE, 1_010_000, 990_000],
  ])(
    'with a limit of %d, methods with %d calls a second are switched off, but not with %d',
    (limit, many, few) => {
      expect(overBudget([counted(1, many, 0.5)], COSTS, limit)).toEqual([1])
      expect(overBudget([counted(1, few, 0.5)], COSTS, limit)).toEqual([])
    },
  )
})

describe('limits that --max-overhead sets', () => {
  const dense = [counted(1, 140_000, 0.9), counted(2, 100_000, 0.9), counted(3, 120_000, 0.9)]

  it.each([
    // Half of 2 % of half a second is 5 ms, or 100,000 calls of 50 ns. With 10 % it is 500,000 calls.
    [0.02, [2]],
    [0.1, [2, 3, 1]],
  ])('with --max-overhead %d, methods become timed until they cost half of this limit', (budget, ids) => {
    expect(timedWithinBudget(dense, { ...COSTS, budget })).toEqual(ids)
  })

  it.each([
    [0.02, [1, 3, 2]],
    [0.1, []],
  ])(
    'with --max-overhead %d, the most frequently called methods are switched off at 85 % of this limit',
    (budget, ids) => {
      const timed = dense.map(({ id, callsPerSecond }) => counted(id, 1.01 * callsPerSecond, 0.9))
      expect(overBudget(timed, { ...COSTS, budget }, BRAKE)).toEqual(ids)
    },
  )
})

describe('the predicted pause of a redefinition', () => {
  it('the predicted pause of a redefinition depends more on compiled methods and loaded classes than on the number of redefined classes', () => {
    const server = { compiledMethods: 11_768, loadedClasses: 16_400 }
    expect(predictedPauseMs(server, 1, 1)).toBeCloseTo(46.3, 1)
    expect(predictedPauseMs(server, 40, 1)).toBeCloseTo(54.1, 1)
  })

  it('the predicted pause of a redefinition is null if the JVM does not report its number of compiled methods', () => {
    expect(predictedPauseMs({ compiledMethods: null, loadedClasses: 16_400 }, 1, 1)).toBeNull()
  })

  it('the predicted pause of a redefinition counts only methods compiled after the last code cache flush', () => {
    expect(compiledSince({ counted: 12_000, compilations: 20_000, before: 20_000 })).toBe(12_000)
    expect(compiledSince({ counted: 12_000, compilations: 23_000, before: 20_000 })).toBe(6_000)
    expect(compiledSince({ counted: 2_000, compilations: 23_000, before: 20_000 })).toBe(2_000)
    expect(compiledSince({ counted: 12_000, compilations: 5_000, before: 20_000 })).toBe(12_000)
    expect(compiledSince({ counted: 12_000, compilations: 5_000, before: null })).toBe(12_000)
    expect(compiledSince({ counted: 12_000, compilations: null, before: null })).toBe(12_000)
    expect(compiledSince({ counted: null, compilations: 23_000, before: 20_000 })).toBeNull()
  })

  it('the predicted pause of a redefinition is proportional to the memory latency of the machine', () => {
    const server = { compiledMethods: 11_768, loadedClasses: 16_400 }
    expect(predictedPauseMs(server, 1, 2.6)).toBeCloseTo(120.3, 1)
  })

  it('the predicted pause of a redefinition limits the number of classes in one redefinition', () => {
    const server = { compiledMethods: 11_768, loadedClasses: 16_400 }
    expect(classesWithin(125, server, 40, 1)).toBe(40)
    // The pause is predicted as (46.1 ms + 0.2 ms per class) * 2.5.
    expect(classesWithin(125, server, 40, 2.5)).toBe(19)
    expect(classesWithin(125, server, 40, 3)).toBe(0)
    expect(classesWithin(125, { ...server, compiledMethods: null }, 40, 1)).toBe(0)
  })

  it('the predicted pause of a redefinition is adjusted halfway to the latest measured pause', () => {
    const jvm = { compiledMethods: 11_768, loadedClasses: 16_400 }
    const slowness = refittedSlowness(1, 50, 200)
    expect(slowness).toBe(2)
    expect(predictedPauseMs(jvm, 1, slowness)).toBeCloseTo(92.5, 1)
    expect(refittedSlowness(slowness, 100, 25)).toBe(1)
  })

  it('the predicted pause of a batch is 1.2 times the pause for the root, and at most twice the consent limit', () => {
    const root = (predictedMs: number | null, measuredMs: number | null) => ({
      ...{ predictedMs, measuredMs, classes: 1 },
    })
    expect(batchPauseMs(125, undefined)).toBe(125)
    expect(batchPauseMs(125, root(null, null))).toBe(125)
    expect(batchPauseMs(125, root(60, 80))).toBe(125)
    expect(batchPauseMs(125, root(150, 120))).toBe(180)
    expect(batchPauseMs(125, root(null, 150))).toBe(125) // there was no prediction
    expect(batchPauseMs(125, root(200, 900))).toBe(250)
  })

  it('the predicted pause of a redefinition prevents further batches if the last pause was three times longer than predicted', () => {
    const isTooLong = (predictedMs: number | null, measuredMs: number | null) =>
      tookTooLong({ predictedMs, measuredMs, classes: 1 }, 125)
    expect(isTooLong(50, 150)).toBe(false)
    expect(isTooLong(50, 151)).toBe(true)
    expect(isTooLong(2, 125), 'which may be done in any case').toBe(false)
    expect(isTooLong(null, 900)).toBe(false)
    expect(isTooLong(50, null)).toBe(false)
  })

  it('the predicted pause of a redefinition is adjusted by a bounded factor after an outlier', () => {
    expect(refittedSlowness(1, 50, 50_000)).toBe(8)
    expect(refittedSlowness(1, 50, 1)).toBe(0.5)
  })
})

it('every call of a root is timed at low call rates, and one call in 64 is timed at 3 million calls per second', () => {
  expect(callsForOneTimed(0)).toBe(1)
  expect(callsForOneTimed(200_000)).toBe(1)
  expect(callsForOneTimed(3e6)).toBe(64)
})

it('the selection of timed methods needs 200 samples, and fewer samples after 8 s and after 12 s', () => {
  expect(samplesNeeded(3_000)).toBe(200)
  expect(samplesNeeded(8_000)).toBe(40)
  expect(samplesNeeded(12_000)).toBe(20)
})

it('while code is cold, methods are chosen after four seconds, 40 samples and 300 root calls', () => {
  const enough = { sampledMs: 4_000, samples: 40, rootCalls: 300 }
  expect(mayChooseWhileCold(enough)).toBe(true)
  expect(mayChooseWhileCold({ ...enough, sampledMs: 3_999 })).toBe(false)
  expect(mayChooseWhileCold({ ...enough, samples: 39 })).toBe(false)
  expect(mayChooseWhileCold({ ...enough, rootCalls: 299 })).toBe(false)
})

describe('the cost of idle probes', () => {
  it('the cost of idle probes is too high if their call rate costs more than half of the budget', () => {
    // Half of 5 % of half a second is 12.5 ms: 2.1 million calls of 6 ns.
    expect(idleProbesOverBudget([counted(1, 1.5e6, 0.5), counted(2, 0.5e6, 0.1)], COSTS)).toBe(false)
    expect(idleProbesOverBudget([counted(1, 1.5e6, 0.5), counted(2, 0.75e6, 0.1)], COSTS)).toBe(true)
    expect(idleProbesOverBudget([], COSTS)).toBe(false)
  })
})
