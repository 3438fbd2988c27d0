import { describe, expect, it } from 'vitest'
import { bareCalls, isWorthComparing, spreadOfBare } from '../../src/cct/bare-calls.ts'
import type { LatestCalls } from '../../src/cct/root-calls.ts'

/** Of every hundred, one takes a hundred times as long, as where a collection is in it. */
function calls(count: number, ticks: number, probes = ROOT): LatestCalls {
  const times = Array.from({ length: count }, (_, i) => ticks * (i % 100 === 50 ? 100 : 1) + (i % 3))
  return { times, probes: times.map(() => probes) }
}

/** Ticks that the probes of a root take. */
const ROOT = 30
const COSTS = { innerTicks: ROOT, nsPerTick: 0.5 }

describe('charged/bare', () => {
  it('is the quotient of the medians, with bounds around it', () => {
    const found = bareCalls(calls(2000, 3000), calls(200, 1000), COSTS)
    expect(found).toMatchObject({ calls: 100, bareNs: 500.5, chargedNs: 1500.5 })
    expect(found!.low).toBeGreaterThan(2.9)
    expect(found!.high).toBeLessThan(3.1)
  })

  it('is as uncertain as a tenth of what was taken out for probes', () => {
    const found = bareCalls(calls(2000, 3000, 9000), calls(200, 1000), COSTS)
    expect(found!.low).toBeCloseTo(2.1, 1)
    expect(found!.high).toBeCloseTo(3.9, 1)
  })

  it('is taken from the latest half of the calls: those before were not compiled yet', () => {
    const [cold, warm] = [calls(60, 50_000), calls(70, 1000)]
    const bare = { times: [...cold.times, ...warm.times], probes: [...cold.probes, ...warm.probes] }
    expect(bareCalls(calls(200, 3000), bare, COSTS)?.bareNs).toBeCloseTo(500, -1)
  })

  it('is bounded by what the order of few calls tells', () => {
    const times = Array.from({ length: 32 }, (_, i) => 1000 + 100 * i)
    const probes = times.map(() => ROOT)
    const bare = { times: [...times, ...times], probes: [...probes, ...probes] }
    const found = bareCalls({ times, probes }, bare, COSTS)!
    expect(found.low).toBeLessThan(0.8)
    expect(found.high).toBeGreaterThan(1.25)
  })

  it('is not told of few calls, nor of calls that are shorter than what their probes cost', () => {
    expect(bareCalls(calls(15, 3000), calls(200, 1000), COSTS)).toBeNull()
    expect(bareCalls(calls(200, 3000), calls(30, 1000), COSTS)).toBeNull()
    expect(bareCalls(calls(200, 3000), calls(200, -5), COSTS)).toBeNull()
  })

  it('is below zero where more was taken out than calls have', () => {
    const found = bareCalls(calls(200, -500), calls(200, 1000), COSTS)!
    expect(found.chargedNs / found.bareNs).toBeCloseTo(-0.5, 2)
    expect(found.low).toBeLessThanOrEqual(-0.498)
    expect(found.high).toBeGreaterThanOrEqual(-0.5)
    expect(found.high).toBeLessThan(0)
  })

  it('is not told where calls that should be bare have other probes in them than those of the root', () => {
    expect(bareCalls(calls(200, 3000), calls(200, 1000, 2 * ROOT), COSTS)).toBeNull()
  })
})

describe('the spread of calls without probes', () => {
  it('is that of the median of the later half: calls that were not compiled yet are not in it', () => {
    const [cold, warm] = [calls(100, 50_000), calls(100, 1000)]
    expect(spreadOfBare({ times: [...cold.times, ...warm.times], probes: [] })).toBeCloseTo(1, 2)
    const unlike = Array.from({ length: 64 }, (_, i) => 1000 + 100 * (i % 32))
    expect(spreadOfBare({ times: unlike, probes: [] })).toBeGreaterThan(1.2)
  })
})

describe('whether it is worth a look', () => {
  it('is told by what probes take of the time of root calls', () => {
    expect(isWorthComparing(calls(20, 1000, 200), 1)).toBe(true)
    expect(isWorthComparing(calls(20, 1000, 50), 1)).toBe(false)
  })

  it('is not, of few calls, nor of long ones, of which few would end in a second', () => {
    expect(isWorthComparing(calls(15, 1000, 9000), 1)).toBe(false)
    expect(isWorthComparing(calls(20, 100e6, 900e6), 1)).toBe(false)
  })
})
