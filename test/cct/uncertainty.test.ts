import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { RootSums } from '../../src/cct/root-sums.ts'
import { snapshotOf } from '../../src/cct/snapshot.ts'
import {
  errorOfCall,
  errorsOf,
  meanOf,
  methodErrors,
  type RootError,
  rootError,
} from '../../src/cct/uncertainty.ts'
import { built, FREE, idOf, play, show } from './notation.ts'

const PROBES = { innerTicks: 3, outerTicks: 2 }
const span = (calls: number, ticks: number, allCalls = calls, halves = 0) => ({
  ...{ calls, ticks, allCalls, halves },
})

describe('the mean of a root', () => {
  it('is without the probes below it', () => {
    // 2 calls, each with 4 below: 10 times t_I, 8 times t_O; 246 - 30 - 16 = 200
    assert.deepEqual(meanOf([span(2, 246, 10)], PROBES), { ticks: 100, doubt: 0, calls: 2 })
    // Two halves in handlers: one t_I and t_O more
    assert.equal(meanOf([span(2, 251, 10, 2)], PROBES)?.ticks, 100)
    assert.equal(meanOf([span(0, 17)], PROBES), null)
  })

  it('is doubted by as much as spans of time differ', () => {
    // 10 calls at 90 and 10 at 110: off by 100 each from 10 * 100; 2 * sqrt((100² + 100²) * 2 / 1) / 20 = 20
    const mean = meanOf([span(10, 900), span(10, 1100)], FREE)
    assert.deepEqual(mean, { ticks: 100, doubt: 20, calls: 20 })
    assert.equal(meanOf([span(10, 1000), span(30, 3000)], FREE)?.doubt, 0)
  })
})

const mean = (ticks: number, doubt = 0) => ({ ticks, doubt, calls: 50 })

describe('the error of a root', () => {
  it('is what the two times differ by, and what each is doubted by', () => {
    assert.equal(errorOfCall({ instrumented: mean(100, 3), bare: mean(80, 4), callsEach: 5 }), 27)
    assert.equal(errorOfCall({ instrumented: mean(80, 3), bare: mean(100, 4), callsEach: 5 }), 27)
  })

  it('goes by probe as far as it is sure, and by time as far as it may be chance', () => {
    // 5 calls a call have 10 halves of a pair, one of which lies outside of the root: (20 - 7) / 9 and 14 of 100
    const error = rootError([{ instrumented: mean(100, 3), bare: mean(80, 4), callsEach: 5 }], FREE, 6)
    assert.deepEqual(error, { innerTicks: 13 / 9, outerTicks: 13 / 9, part: 0.14, onceTicks: 6 })
    const chance = rootError([{ instrumented: mean(100, 30), bare: mean(80, 4), callsEach: 5 }], PROBES, 0)
    assert.deepEqual(chance, { ...PROBES, part: 0.54, onceTicks: 0 })
  })

  it('goes by probe alone where the root has next to no time, or less: a part of that is any number', () => {
    // 2,000 calls a call: with probes that cost less than calibration says, less than nothing is left.
    for (const ticks of [-300, 0, 3]) {
      const found = rootError(
        [{ instrumented: mean(ticks, 60), bare: mean(800, 40), callsEach: 2000 }],
        FREE,
        0,
      )
      assert.deepEqual(found, {
        ...{ innerTicks: (900 - ticks) / 3999, outerTicks: (900 - ticks) / 3999 },
        ...{ part: 0, onceTicks: 0 },
      })
    }
    const both = rootError([{ instrumented: mean(-2, 1), bare: mean(-1, 1), callsEach: 1 }], FREE, 0)
    assert.deepEqual(both, { innerTicks: 3, outerTicks: 3, part: 0, onceTicks: 0 })
  })

  it('is that of the middle one of several', () => {
    const comparisons = [100, 50, 80].map((bare) => ({
      ...{ instrumented: mean(100), bare: mean(bare), callsEach: 1 },
    }))
    assert.equal(rootError(comparisons, FREE, 0).innerTicks, 20)
  })
})

/** As `main 10 ( a 4 )`: what total times may be wrong by. */
function errors(text: string, of: ReadonlyMap<string, RootError>, calibration = FREE) {
  const byId = new Map([...of].map(([name, error]) => [idOf(name), error]))
  return snapshotOf(built(text), { calibration, nsPerTick: 1, errors: byId })
}

const EVENTS = 'main> 0  a> 10  b> 12  b< 15  a< 20  a> 30  a< 40  main< 100'

describe('the errors of a tree', () => {
  it('are by call, made or received, and add up', () => {
    const error = { innerTicks: 1, outerTicks: 0.25, part: 0, onceTicks: 0 }
    const { merged } = errors(EVENTS, new Map([['main', error]]))
    // main: 1 + 2/4; a: 2 + 1/4; b: 1
    assert.equal(show(merged, 'selfErrorNs'), 'main 1x 1.5ns ( a 2x 2.25ns ( b 1x 1ns ) )')
    assert.equal(show(merged, 'errorNs'), 'main 1x 4.75ns ( a 2x 3.25ns ( b 1x 1ns ) )')
  })

  it('are by time, and that of cold code by time as well, but once', () => {
    const error = { innerTicks: 0, outerTicks: 0, part: 0.125, onceTicks: 12.5 }
    const { merged, threads } = errors(EVENTS, new Map([['main', error]]))
    // Self times are 80, 17 and 3, of 100: an eighth and another eighth
    assert.equal(show(merged, 'selfErrorNs'), 'main 1x 20ns ( a 2x 4.25ns ( b 1x 0.75ns ) )')
    assert.equal(errorsOf(merged)!.total[0], 25)
    assert.deepEqual(threads[0].tree.metrics.errorNs, merged.metrics.errorNs)
  })

  it('of cold code are those of all threads together, not of each', () => {
    const error = { innerTicks: 0, outerTicks: 0, part: 0, onceTicks: 12 }
    const { merged, threads } = errors(
      'main> 0 a> 10 a< 30 main< 60  @2 main> 0 main< 40  @3 main> 0 a> 0 a< 20 main< 20',
      new Map([['main', error]]),
    )
    assert.equal(show(merged, 'errorNs'), 'main 3x 12ns ( a 2x 4ns )')
    assert.deepEqual(
      threads.map(({ tree }) => tree.metrics.errorNs![0]),
      [6, 4, 2],
    )
  })

  it('are not known below a root that was not timed', () => {
    const error = { innerTicks: 1, outerTicks: 0, part: 0, onceTicks: 0 }
    const { merged, threads } = errors(
      'main> 0 a> 1 a< 3 main< 9  other> 10 a> 12 a< 13 other< 20  @2 main> 0 main< 5',
      new Map([['main', error]]),
    )
    assert.equal(show(merged, 'errorNs'), 'main 2x 3ns ( a 1x 1ns ) other 1x -1ns ( a 1x -1ns )')
    assert.equal(show(threads[1].tree, 'errorNs'), 'main 1x 1ns')
    const sums = methodErrors(merged)
    assert.deepEqual({ ...sums.get(idOf('main')), end: 0 }, { self: 2, total: 3, end: 0 })
    assert.equal(sums.get(idOf('a'))?.total, -1)
    assert.deepEqual([...methodErrors(merged, idOf('main')).keys()], [idOf('main')])
  })

  it('count recursion once, as totals do', () => {
    const error = { innerTicks: 1, outerTicks: 1, part: 0, onceTicks: 0 }
    const { merged } = errors('r> 0 r> 1 r< 2 r< 3', new Map([['r', error]]))
    const sum = methodErrors(merged).get(idOf('r'))
    assert.equal(sum?.total, errorsOf(merged)!.total[0])
    assert.equal(sum?.self, sum?.total)
  })

  it('are absent unless asked for', () => {
    const { merged } = snapshotOf(built(EVENTS), { calibration: FREE, nsPerTick: 1 })
    assert.equal(errorsOf(merged), undefined)
    assert.equal(methodErrors(merged).size, 0)
  })
})

describe('sums of roots', () => {
  it('are of all threads, by root, and go on', () => {
    const builder = built('main> 0 a> 1 a< 3 main< 9  run> 10 main> 12 main< 13 run< 20  @2 main> 0 main< 5')
    const sums = new RootSums()
    const of = () => Object.fromEntries(sums.of(builder).map(({ method, ...sum }) => [method, sum]))
    // main below run is none of main's own.
    assert.deepEqual(of(), {
      [idOf('main')]: { calls: 2, ticks: 14, allCalls: 3, halves: 0 },
      [idOf('run')]: { calls: 1, ticks: 10, allCalls: 2, halves: 0 },
    })
    play(builder, '@2 main> 100 b> 101 b< 104 main< 110')
    assert.deepEqual(of()[idOf('main')], { calls: 3, ticks: 24, allCalls: 5, halves: 0 })
  })
})
