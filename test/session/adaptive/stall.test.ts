import { expect, it } from 'vitest'
import { causeOf } from '../../../src/session/adaptive/inside.ts'

/** Ticks of half a millisecond; a stall of 40 ms ends at 1,000. */
const cause = (safepointMs: number | null, ...redefined: [from: number, to: number][]) =>
  causeOf({ ms: 40, atTicks: 1_000, safepointMs }, (ms) => ms * 2, redefined)

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

it('no stall was for nothing', () => {
  expect(causeOf({ ms: 0, atTicks: 1_000, safepointMs: 0 }, (ms) => ms * 2, [])).toBe(null)
})
