import { describe, expect, it } from 'vitest'
import { BadInterval, parseEvery } from '../../src/commands/every.ts'

describe('sampling intervals', () => {
  it.each([
    ['10000bc', 10_000, 'bytecodes'],
    ['1bc', 1, 'bytecodes'],
    ['2147483647bc', 2 ** 31 - 1, 'bytecodes'],
    ['10ms', 10_000_000, 'ns'],
    ['0.1ms', 100_000, 'ns'],
    ['250us', 250_000, 'ns'],
    ['100µs', 100_000, 'ns'],
    ['10s', 10_000_000_000, 'ns'],
  ])('the sampling interval %s means every %d %s', (text, every, unit) => {
    expect(parseEvery(text)).toEqual({ every, unit })
  })

  it.each([
    '',
    '10',
    'ms',
    '0bc',
    '1.5bc',
    '2147483648bc',
    '99us',
    '11s',
    '1 ms',
    '-1ms',
    '1e3us',
    '1m',
    'NaNms',
  ])('the sampling interval %j is refused with advice', (text) => {
    expect(() => parseEvery(text)).toThrow(BadInterval)
  })
})
