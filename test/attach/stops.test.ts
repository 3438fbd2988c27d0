import { expect, it } from 'vitest'
import { mostThrottled, StopCounters, throttledNs } from '../../src/attach/stops.ts'

it.each([
  [
    'control groups of version 2',
    'usage_usec 9\nnr_periods 40\nnr_throttled 3\nthrottled_usec 250000\n',
    250e6,
  ],
  ['control groups of version 1', 'nr_periods 40\nnr_throttled 3\nthrottled_time 250000000\n', 250e6],
  ['a control group that cannot have a quota', 'usage_usec 9\nuser_usec 8\n', null],
  ['a missing control group', '', null],
])('the time in which processor use was throttled is read for %s', (_, stat, ns) => {
  expect(throttledNs(stat)).toBe(ns)
})

it('a process that is not a JVM has no garbage collection time', () => {
  expect(new StopCounters(process.pid).read().collectionNs).toBe(null)
})

it('the periods of the processor quota are read from the control group that is throttled most', () => {
  const own = 'nr_periods 50\nnr_throttled 40\nthrottled_usec 9\n'
  expect(mostThrottled([own, 'nr_periods 900\nnr_throttled 2\n'])).toEqual({ all: 50, throttled: 40 })
  expect(mostThrottled([])).toBeNull()
})
