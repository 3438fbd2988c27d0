import { describe, expect, it } from 'vitest'
import { durationText, parseDuration } from '../../src/base/duration.ts'

describe('durations typed by the user', () => {
  it.each([
    ['500ms', 500],
    ['10s', 10_000],
    ['1.5m', 90_000],
    ['2h', 7_200_000],
    ['576h', 2_073_600_000],
  ])('the duration %s is parsed as %d ms', (text, ms) => {
    expect(parseDuration(text)).toBe(ms)
  })

  it.each([
    '',
    '10',
    's',
    '-1s',
    '0s',
    '1 s',
    '10sec',
    'NaNs',
    '1e3s',
    '577h',
    '600h',
    `1${'0'.repeat(400)}s`,
  ])('the text %j is refused as a duration', (text) => {
    expect(parseDuration(text)).toBeUndefined()
  })

  it.each(['500ms', '90s', '2m', '1h', '0.5ms'])(
    'the duration %s is parsed, and formatted as the same text',
    (text) => {
      expect(durationText(parseDuration(text)!)).toBe(text)
    },
  )
})
