import { expect, it } from 'vitest'
import { beganBefore, causeOf, type Stall } from '../../../src/session/adaptive/inside.ts'

type Stops = Partial<Pick<Stall, 'taking' | 'stopped' | 'collectionMs' | 'dumpMs' | 'throttledMs'>>

const stall = (ms: number, safepointMs: number | null, stops: Stops = {}): Stall => ({
  ...{ ms, atTicks: 1_000, taking: false, stopped: false, dumpMs: 0 },
  ...{ safepointMs, collectionMs: null, throttledMs: null },
  ...stops,
})

/** Returns the cause of a stall of 40 ms that ends at tick 1,000. Each tick is half a millisecond. */
const cause = (safepointMs: number | null, ...redefined: [from: number, to: number][]) =>
  causeOf(stall(40, safepointMs), (ms) => ms * 2, redefined)

const causeBeside = (safepointMs: number | null, stops: Stops) =>
  causeOf(stall(40, safepointMs, stops), (ms) => ms * 2, [])

it('a stall is attributed to a redefinition if the pause of the redefinition covers most of the stall', () => {
  expect(cause(40, [930, 990])).toBe('redefinition')
  expect(cause(null, [100, 200], [960, 1_100])).toBe('redefinition')
  expect(cause(null, [100, 200], [961, 1_100])).toBe(null)
  expect(cause(40, [800, 920])).toBe('safepoint')
  expect(cause(40, [1_000, 1_100])).toBe('safepoint')
})

it('a stall is attributed to a safepoint if the JVM was at a safepoint for most of the stall', () => {
  expect(cause(20)).toBe('safepoint')
  expect(cause(19)).toBe('processor')
  expect(cause(null)).toBe(null)
})

it('a stall at a safepoint is attributed to garbage collection if the collection covers most of the stall', () => {
  expect(causeBeside(20, { collectionMs: 20 })).toBe('collection')
  expect(causeBeside(40, { collectionMs: 19 })).toBe('safepoint')
  expect(causeBeside(19, { collectionMs: 40 })).toBe('processor')
  expect(causeBeside(null, { collectionMs: 40 })).toBe(null)
  expect(
    causeOf(stall(40, 40, { collectionMs: 40 }), (ms) => ms * 2, [[930, 990]]),
    'of a redefinition',
  ).toBe('redefinition')
})

it('a stall is attributed to a thread dump of the live view if the dump covers most of the stall', () => {
  expect(causeBeside(40, { dumpMs: 20 })).toBe('dump')
  expect(causeBeside(null, { dumpMs: 20 })).toBe('dump')
  expect(causeBeside(40, { dumpMs: 19 })).toBe('safepoint')
  expect(causeBeside(0, { dumpMs: 40 }), 'the JVM counts the safepoint later').toBe('dump')
  expect(causeBeside(40, { dumpMs: 40, collectionMs: 20 })).toBe('collection')
})

it('a stall without a safepoint is attributed to a CPU quota if the kernel throttled the JVM for most of the stall', () => {
  expect(causeBeside(19, { throttledMs: 20 })).toBe('throttled')
  expect(causeBeside(19, { throttledMs: 19 })).toBe('processor')
  expect(causeBeside(20, { throttledMs: 40 })).toBe('safepoint')
  expect(causeBeside(null, { throttledMs: 40 })).toBe(null)
})

it('a long stall is attributed to a suspended process if the process was observed in the stopped state', () => {
  const long = (stops: Stops, ms = 1_500) => causeOf(stall(ms, 3, stops), (each) => each * 2, [])
  expect(long({ stopped: true })).toBe('suspended')
  expect(long({ stopped: true, taking: true })).toBe('suspended')
  expect(long({ stopped: false }), 'a thread may wait for a page, or for a safepoint').toBe('processor')
  expect(long({ stopped: true }, 999)).toBe('processor')
  expect(causeOf(stall(1_500, null, { stopped: true }), (ms) => ms * 2, [])).toBe('suspended')
})

it('a stall is attributed to stack sampling if it has no other cause', () => {
  expect(causeBeside(40, { taking: true })).toBe('stacks')
  expect(causeBeside(0, { taking: true })).toBe('stacks')
  expect(causeBeside(null, { taking: true })).toBe('stacks')
  expect(causeBeside(20, { taking: true, collectionMs: 20 })).toBe('collection')
  expect(causeBeside(0, { taking: true, throttledMs: 20 })).toBe('throttled')
  expect(causeOf(stall(40, 40, { taking: true }), (ms) => ms * 2, [[930, 990]])).toBe('redefinition')
})

it('a stall of zero length has no cause', () => {
  expect(causeOf(stall(0, 0), (ms) => ms * 2, [])).toBe(null)
})

it('a stall that began shortly before the previous status reading is attributed to a suspension that the latest reading observed', () => {
  const reading = (ms: number, previousTicks: number) =>
    beganBefore({ ms, atTicks: 1_000 }, (it) => it * 2, previousTicks)
  expect(reading(40, 990)).toBe(true)
  expect(reading(40, 921)).toBe(true)
  expect(reading(40, 920)).toBe(false)
})
