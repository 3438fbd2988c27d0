import { describe, expect, it } from 'vitest'
import { bareCalls, isWorthComparing, spreadOfBare } from '../../src/cct/bare-calls.ts'
import type { LatestCalls } from '../../src/cct/root-calls.ts'

/** Returns calls of which one in a hundred takes a hundred times as long, like a call with a garbage collection. */
function calls(count: number, ticks: number, probes = ROOT): LatestCalls {
  const times = Array.from({ length: count }, (_, i) => ticks * (i % 100 === 50 ? 100 : 1) + (i % 3))
  return { times, probes: times.map(() => probes) }
}

/** Cost of a root's probes, in ticks. */
const ROOT = 30
const COSTS = { innerTicks: ROOT, nsPerTick: 0.5 }

describe('the ratio of charged time (with probes, after compensation) to bare time (without probes)', () => {
  it('the ratio charged/bare is the median charged time divided by the median bare time, and lies between its bounds', () => {
    const found = bareCalls(calls(2000, 3000), calls(200, 1000), COSTS)
    expect(found).toMatchObject({ calls: 100, bareNs: 500.5, chargedNs: 1500.5 })
    expect(found!.low).toBeGreaterThan(2.9)
    expect(found!.high).toBeLessThan(3.1)
  })

  it('the bounds of the ratio charged/bare are widened by a tenth of the subtracted probe cost', () => {
    const found = bareCalls(calls(2000, 3000, 9000), calls(200, 1000), COSTS)
    expect(found!.low).toBeCloseTo(2.1, 1)
    expect(found!.high).toBeCloseTo(3.9, 1)
  })

  it('the ratio charged/bare uses only the later half of the bare calls, which run as compiled code', () => {
    const [cold, warm] = [calls(60, 50_000), calls(70, 1000)]
    const bare = { times: [...cold.times, ...warm.times], probes: [...cold.probes, ...warm.probes] }
    expect(bareCalls(calls(200, 3000), bare, COSTS)?.bareNs).toBeCloseTo(500, -1)
  })

  it('the ratio charged/bare of few calls has wide bounds, computed from order statistics', () => {
    const times = Array.from({ length: 32 }, (_, i) => 1000 + 100 * i)
    const probes = times.map(() => ROOT)
    const bare = { times: [...times, ...times], probes: [...probes, ...probes] }
    const found = bareCalls({ times, probes }, bare, COSTS)!
    expect(found.low).toBeLessThan(0.8)
    expect(found.high).toBeGreaterThan(1.25)
  })

  it('the ratio charged/bare is null for few calls and for calls shorter than their probe cost', () => {
    expect(bareCalls(calls(15, 3000), calls(200, 1000), COSTS)).toBeNull()
    expect(bareCalls(calls(200, 3000), calls(30, 1000), COSTS)).toBeNull()
    expect(bareCalls(calls(200, 3000), calls(200, -5), COSTS)).toBeNull()
  })

  it('the ratio charged/bare is negative if the subtracted probe cost exceeds the time of the calls', () => {
    const found = bareCalls(calls(200, -500), calls(200, 1000), COSTS)!
    expect(found.chargedNs / found.bareNs).toBeCloseTo(-0.5, 2)
    expect(found.low).toBeLessThanOrEqual(-0.498)
    expect(found.high).toBeGreaterThanOrEqual(-0.5)
    expect(found.high).toBeLessThan(0)
  })

  it('the ratio charged/bare is null if bare calls contain probes other than the probes of the root', () => {
    expect(bareCalls(calls(200, 3000), calls(200, 1000, 2 * ROOT), COSTS)).toBeNull()
  })
})

describe('the spread of bare calls, which have no probes', () => {
  it('the spread of bare calls is computed from the later half of the bare calls', () => {
    const [cold, warm] = [calls(100, 50_000), calls(100, 1000)]
    expect(spreadOfBare({ times: [...cold.times, ...warm.times], probes: [] })).toBeCloseTo(1, 2)
    const unlike = Array.from({ length: 64 }, (_, i) => 1000 + 100 * (i % 32))
    expect(spreadOfBare({ times: unlike, probes: [] })).toBeGreaterThan(1.2)
  })
})

describe('whether a comparison with bare calls is worthwhile', () => {
  it('a comparison with bare calls is worthwhile if probes take a tenth of the time of root calls', () => {
    expect(isWorthComparing(calls(20, 1000, 200), 1)).toBe(true)
    expect(isWorthComparing(calls(20, 1000, 50), 1)).toBe(false)
  })

  it('a comparison with bare calls is not worthwhile if there are few calls or long calls', () => {
    expect(isWorthComparing(calls(15, 1000, 9000), 1)).toBe(false)
    expect(isWorthComparing(calls(20, 100e6, 900e6), 1)).toBe(false)
  })
})
