import { expect, it } from 'vitest'
import { StopCounters, throttledNs } from '../../src/attach/stops.ts'

it.each([
  ['of version 2', 'usage_usec 9\nnr_periods 40\nnr_throttled 3\nthrottled_usec 250000\n', 250e6],
  ['of version 1', 'nr_periods 40\nnr_throttled 3\nthrottled_time 250000000\n', 250e6],
  ['of a group that can have no quota', 'usage_usec 9\nuser_usec 8\n', null],
  ['of none', '', null],
])('for how long a control group was throttled, by a file %s', (_, stat, ns) => {
  expect(throttledNs(stat)).toBe(ns)
})

it('a process that is no JVM has no data on garbage collections', () => {
  expect(new StopCounters(process.pid).read().collectionNs).toBe(null)
})
