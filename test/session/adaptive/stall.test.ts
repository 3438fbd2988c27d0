import { expect, it } from 'vitest'
import { causeOf, type Stall } from '../../../src/session/adaptive/inside.ts'

type Stops = Partial<Pick<Stall, 'taking' | 'stopped' | 'collectionMs' | 'throttledMs'>>

const stall = (ms: number, safepointMs: number | null, stops: Stops = {}): Stall => ({
  ...{ ms, atTicks: 1_000, taking: false, stopped: false },
  ...{ safepointMs, collectionMs: null, throttledMs: null },
  ...stops,
})

/** Ticks of half a millisecond; a stall of 40 ms ends at 1,000. */
const cause = (safepointMs: number | null, ...redefined: [from: number, to: number][]) =>
  causeOf(stall(40, safepointMs), (ms) => ms * 2, redefined)

const causeBeside = (safepointMs: number | null, stops: Stops) =>
  causeOf(stall(40, safepointMs, stops), (ms) => ms * 2, [])

it('a stall was for a redefinition if threads stood still for that in most of it', () => {
  expect(cause(40, [930, 990])).toBe('redefinition')
  expect(cause(null, [100, 200], [960, 1_100])).toBe('redefinition')
  expect(cause(null, [100, 200], [961, 1_100])).toBe(null)
  expect(cause(40, [800, 920])).toBe('safepoint')
  expect(cause(40, [1_000, 1_100])).toBe('safepoint')
})

it('another one was for a safepoint, if the JVM has stopped for most of it', () => {
  expect(cause(20)).toBe('safepoint')
  expect(cause(19)).toBe('processor')
  expect(cause(null)).toBe(null)
})

it('of these it was for a collection, if the JVM has collected for most of it', () => {
  expect(causeBeside(20, { collectionMs: 20 })).toBe('collection')
  expect(causeBeside(40, { collectionMs: 19 })).toBe('safepoint')
  expect(causeBeside(19, { collectionMs: 40 })).toBe('processor')
  expect(causeBeside(null, { collectionMs: 40 })).toBe(null)
  expect(
    causeOf(stall(40, 40, { collectionMs: 40 }), (ms) => ms * 2, [[930, 990]]),
    'of a redefinition',
  ).toBe('redefinition')
})

it('without a safepoint it was for a quota, if the kernel has throttled the JVM for most of it', () => {
  expect(causeBeside(19, { throttledMs: 20 })).toBe('throttled')
  expect(causeBeside(19, { throttledMs: 19 })).toBe('processor')
  expect(causeBeside(20, { throttledMs: 40 })).toBe('safepoint')
  expect(causeBeside(null, { throttledMs: 40 })).toBe(null)
})

it('in a long one the process was suspended, if it was seen to be stopped', () => {
  const long = (stops: Stops, ms = 1_500) => causeOf(stall(ms, 3, stops), (each) => each * 2, [])
  expect(long({ stopped: true })).toBe('suspended')
  expect(long({ stopped: true, taking: true })).toBe('suspended')
  expect(long({ stopped: false }), 'a thread may wait for a page, or for a safepoint').toBe('processor')
  expect(long({ stopped: true }, 999)).toBe('processor')
  expect(causeOf(stall(1_500, null, { stopped: true }), (ms) => ms * 2, [])).toBe('suspended')
})

it('stacks were taken meanwhile, and nothing else was the cause', () => {
  expect(causeBeside(40, { taking: true })).toBe('stacks')
  expect(causeBeside(0, { taking: true })).toBe('stacks')
  expect(causeBeside(null, { taking: true })).toBe('stacks')
  expect(causeBeside(20, { taking: true, collectionMs: 20 })).toBe('collection')
  expect(causeBeside(0, { taking: true, throttledMs: 20 })).toBe('throttled')
  expect(causeOf(stall(40, 40, { taking: true }), (ms) => ms * 2, [[930, 990]])).toBe('redefinition')
})

it('no stall was for nothing', () => {
  expect(causeOf(stall(0, 0), (ms) => ms * 2, [])).toBe(null)
})
