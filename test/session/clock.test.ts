import { describe, expect, it } from 'vitest'
import { TargetClock } from '../../src/session/clock.ts'

describe("the target's clock", () => {
  it('converts by the pairs seen, not by a nominal frequency', () => {
    const clock = new TargetClock({ ticks: 0, nanos: 1000 }, 'ticks')
    clock.update({ ticks: 250_000_000, nanos: 100_001_000 }) // 2.5 ticks a nanosecond
    expect(clock.nsPerTick).toBeCloseTo(0.4, 9)
    expect(clock.toNs(2500)).toBeCloseTo(1000, 6)
  })

  it('trusts no pair that is too near the first', () => {
    const clock = new TargetClock({ ticks: 0, nanos: 0 }, 'ticks')
    clock.update({ ticks: 10, nanos: 1000 })
    expect(clock.nsPerTick).toBe(1)
  })

  it('takes nanoTime for what it is', () => {
    const clock = new TargetClock({ ticks: 0, nanos: 0 }, 'nanoTime')
    clock.update({ ticks: 1_000_000_000, nanos: 1_000_400_000 })
    expect(clock.nsPerTick).toBe(1)
  })
})
