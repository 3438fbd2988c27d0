import { beforeEach, describe, expect, it } from 'vitest'
import { BudgetWatch, type Look, type Over } from '../../../src/session/adaptive/budget-watch.ts'

const STEP_MS = 250
const NS_PER_CALL = 100
/** Calls a second of the only timed method. With a root time of 0.1 s a second, its probes cost 40 % of the budget of 5 %. */
const CALLS_PER_SECOND = 20_000
const USUAL_NS = 0.1e9

let watch: BudgetWatch
let latest: Look

beforeEach(() => {
  watch = new BudgetWatch()
  latest = { atMs: 0, rootCalls: 0, counts: Float64Array.of(0, 0), rootNs: 0 }
})

interface Step {
  /** Time of the roots in a second, during this step. */
  readonly rootNs: number
  /** Calls of the timed method in a second, during this step. */
  readonly calls?: number
  readonly rootCalls?: number
  readonly ms?: number
}

/** One step of the controller. */
function step(
  { rootNs, calls = CALLS_PER_SECOND, rootCalls = 50, ms = STEP_MS }: Step,
  isWarm = false,
): Over {
  const seconds = ms / 1_000
  latest = {
    atMs: latest.atMs + ms,
    rootCalls: latest.rootCalls + rootCalls,
    counts: Float64Array.of(0, latest.counts[1]! + calls * seconds),
    rootNs: latest.rootNs + rootNs * seconds,
  }
  const now = latest
  const ratesSince = (since: Look) => {
    const over = (now.atMs - since.atMs) / 1_000
    const callsPerSecond = (now.counts[1]! - since.counts[1]!) / over
    return {
      called: [{ id: 1, share: 0.5, callsPerSecond }],
      costs: { nsPerCall: NS_PER_CALL, rootNsPerSecond: (now.rootNs - since.rootNs) / over, budget: 0.05 },
    }
  }
  return watch.check(now, ratesSince, isWarm)
}

/** Numbers of the steps at which methods are switched off. */
const offAt = (steps: readonly Step[]): number[] =>
  steps.flatMap((it, i) => (step(it).off.length > 0 ? [i] : []))
const times = (count: number, it: Step): Step[] => Array.from({ length: count }, () => it)
const usual: Step = { rootNs: USUAL_NS }
/** The probes cost 133 % of the budget. */
const short: Step = { rootNs: 0.3 * USUAL_NS }
/** The probes cost 400 % of the budget. */
const surge: Step = { rootNs: 0.1 * USUAL_NS }

describe('85 % of the budget', () => {
  it('some steps with little root time switch no method off, since the mean of four seconds is within the budget', () => {
    const steps = [usual, usual, usual, short, short, usual]
    expect(offAt(Array.from({ length: 20 }, () => steps).flat())).toEqual([])
  })

  it('methods are switched off after four seconds in which the probes cost too much', () => {
    expect(offAt(times(20, { rootNs: 0.4 * USUAL_NS }))[0]).toBe(4_000 / STEP_MS)
  })

  it('the window has four seconds after slow steps, too', () => {
    // The mean of ten seconds is within the budget, and the mean of the last four seconds is not.
    expect(offAt([...times(4, { ...usual, ms: 2_000 }), ...times(2, { ...short, ms: 2_000 })])).toEqual([5])
  })

  it('few root calls switch no method off before a minute is over', () => {
    const rare: Step = { ...short, rootCalls: 0 }
    expect(offAt(times(400, rare))[0]).toBe(60_000 / STEP_MS)
  })

  it('a root call that goes on for long counts as many calls', () => {
    const busy: Step = { rootNs: 1e9, rootCalls: 0, calls: 450_000 } // 90 % of the budget
    expect(offAt(times(20, busy))[0]).toBe(4_000 / STEP_MS)
  })
})

describe('the whole budget', () => {
  /** The probes cost 95 % of the budget. */
  const more: Step = { rootNs: 0.42 * USUAL_NS }

  it('old rows are not discarded while the probes cost less than the budget', () => {
    expect(offAt([...times(60, usual), ...times(400, more)])).toEqual([])
    watch.forget() // the rows begin again
    expect(offAt(times(20, more))[0]).toBe(4_000 / STEP_MS)
  })

  it('old rows are discarded if the probes cost more than the budget over four seconds', () => {
    expect(offAt([...times(60, usual), ...times(40, short)])[0]).toBeLessThan(60 + 4_000 / STEP_MS)
  })
})

describe('twice the budget', () => {
  it('methods are switched off after two steps in which the probes cost twice the budget', () => {
    expect(offAt([...times(8, usual), surge, surge])).toEqual([9])
  })

  it('single steps with high costs switch no method off', () => {
    expect(offAt(Array.from({ length: 20 }, () => [surge, usual, usual, usual]).flat())).toEqual([])
  })

  it('few root calls switch no method off', () => {
    expect(offAt([...times(8, usual), ...times(2, { ...surge, rootCalls: 4 })])).toEqual([])
  })
})

describe('methods that were chosen while code was interpreted', () => {
  const some: Step = { rootNs: 0.4 * USUAL_NS }

  it('are switched off when code is compiled, if they cost more than 85 % of the budget in the seconds before', () => {
    for (let i = 0; i < 8; i++) expect(step(some).off).toEqual([])
    const { off, rates } = step(some, true)
    expect(off).toEqual([1])
    expect(rates?.called).toEqual([{ id: 1, share: 0.5, callsPerSecond: CALLS_PER_SECOND }])
  })

  it('stay timed if the mean of the seconds before is within the budget', () => {
    for (let i = 0; i < 8; i++) step(usual)
    step(surge)
    expect(step(surge, true).off).toEqual([])
  })

  it('stay timed if less than a second is known', () => {
    for (let i = 0; i < 3; i++) step(some)
    expect(step(some, true)).toEqual({ off: [] })
  })
})

it('looks without root calls in between have no rates', () => {
  for (let i = 0; i < 8; i++) step({ rootNs: 0, rootCalls: 0 })
  expect(step({ rootNs: 0, rootCalls: 0 }, true)).toEqual({ off: [] })
})

it('looks of earlier rows are not compared', () => {
  expect(offAt(times(16, { rootNs: 0.4 * USUAL_NS }))).toEqual([])
  watch.forget()
  expect(offAt(times(16, { rootNs: 0.4 * USUAL_NS }))).toEqual([])
  watch.forget()
  expect(offAt([...times(4, usual), surge])).toEqual([])
  watch.forget()
  expect(offAt([surge])).toEqual([])
})
