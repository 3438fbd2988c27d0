import { describe, expect, it } from 'vitest'
import { TargetClock } from '../../src/session/clock.ts'
import type { ClockPair } from '../../src/wire/messages.ts'

const SECOND = 1e9
const HOUR = 3600 * SECOND
/** Ticks of two clock readings that take 24 ns each, at 2.5 ticks per nanosecond. */
const TIGHT = 120
const MS = 1e6

/** Returns a clock with the pairs of a target, read every half second for an hour. */
function anHour(
  ticksAt: (nanos: number) => number,
  spoil: (pair: ClockPair, i: number) => ClockPair = (it) => it,
) {
  const pairAt = (nanos: number): ClockPair => ({ ticks: ticksAt(nanos), nanos, width: TIGHT })
  const clock = new TargetClock(spoil(pairAt(0), 0), 'counterTime')
  for (let i = 1; i <= 7200; i++) clock.update(spoil(pairAt(i * 0.5 * SECOND), i))
  return clock
}

/** Returns the pair of a thread that had no processor for some time between its two readings. */
const late = (pair: ClockPair, byNanos: number): ClockPair => ({
  ticks: pair.ticks + byNanos * 1.25,
  nanos: pair.nanos,
  width: pair.width + byNanos * 2.5,
})

describe('the clock of the target', () => {
  it('the clock of the target converts ticks with the measured time pairs instead of a nominal frequency', () => {
    const clock = new TargetClock({ ticks: 0, nanos: 1000, width: TIGHT }, 'counterTime')
    clock.update({ ticks: 250_000_000, nanos: 100_001_000, width: TIGHT }) // 2.5 ticks per nanosecond
    expect(clock.nsPerTick).toBeCloseTo(0.4, 9)
    expect(clock.toNs(2500)).toBeCloseTo(1000, 6)
  })

  it('the clock of the target ignores a time pair that is too close to the first', () => {
    const clock = new TargetClock({ ticks: 0, nanos: 0, width: TIGHT }, 'counterTime')
    clock.update({ ticks: 10, nanos: 1000, width: TIGHT })
    expect(clock.nsPerTick).toBe(1)
  })

  it('the clock of the target treats nanoTime ticks as nanoseconds', () => {
    const clock = new TargetClock({ ticks: 0, nanos: 0, width: TIGHT }, 'nanoTime')
    clock.update({ ticks: 1_000_000_000, nanos: 1_000_400_000, width: TIGHT })
    expect(clock.nsPerTick).toBe(1)
  })

  it('the clock of the target is accurate to 1 ms after an hour with a frequency drift of 20 ppm', () => {
    // 2.5 GHz at the start and 20 ppm more at the end, so 10 ppm more on average.
    const ticksAt = (nanos: number) => 2.5 * nanos * (1 + (10e-6 * nanos) / HOUR)
    const clock = anHour(ticksAt)
    expect(Math.abs(clock.toNs(ticksAt(HOUR)) - HOUR)).toBeLessThan(MS)
    expect(Math.abs(0.4 * ticksAt(HOUR) - HOUR)).toBeGreaterThan(30 * MS) // the error with the frequency at the start
  })

  it.each([
    ['the last', (i: number) => i === 7200],
    ['the first', (i: number) => i === 0],
    ['every second', (i: number) => i % 2 === 0],
  ])('the clock of the target stays accurate when %s time pair is late by 20 ms', (_which, isLate) => {
    const clock = anHour(
      (nanos) => 2.5 * nanos,
      (pair, i) => (isLate(i) ? late(pair, 20 * MS) : pair),
    )
    expect(Math.abs(clock.toNs(2.5 * HOUR) - HOUR)).toBeLessThan(MS)
  })

  it('if all time pairs are late, the error of the clock of the target is at most the delay of the pairs', () => {
    const clock = anHour(
      (nanos) => 2.5 * nanos,
      (pair, i) => late(pair, (1 + (i % 7)) * MS),
    )
    expect(Math.abs(clock.toNs(2.5 * HOUR) - HOUR)).toBeLessThan(MS)
  })

  it.each([
    ['forward by 10 s', 25e9],
    ['back to its start', -2.5 * 0.5 * HOUR],
  ])('the clock of the target keeps its rate when the tick counter jumps %s', (_how, jump) => {
    const clock = anHour((nanos) => 2.5 * nanos + (nanos > 0.5 * HOUR ? jump : 0))
    expect(Math.abs(clock.toNs(2.5 * HOUR) - HOUR)).toBeLessThan(MS)
  })
})
