// Regions in a profile: the file, the JSON, the HTML page.

import { describe, expect, it } from 'vitest'
import { decodeProfile, encodeProfile } from '../../src/profile/file.ts'
import { jsonPieces } from '../../src/profile/json.ts'
import type { Profile, RegionTimes } from '../../src/profile/profile.ts'
import { ASCII_BARS, BARS, bar, barRows, perSecond, sparkline, time } from '../../src/profile/region-text.ts'
import { reportText } from '../../src/profile/report.ts'
import { REGION } from './region.ts'
import { profileOf } from './trees.ts'

const IDLE: RegionTimes = {
  ...REGION,
  ...{ region: 'App.main', lines: null, count: 0, totalNs: 0, minNs: 0, meanNs: 0, maxNs: 0 },
  ...{ firstMs: null, lastMs: null, buckets: [], lastNs: [], intervals: [] },
}

const profile: Profile = {
  ...profileOf('main 1x 1ns'),
  merged: profileOf('').merged,
  threads: [],
  durationMs: 2000,
  roots: ['App.main:3-4', 'App.main'],
  regions: [REGION, IDLE],
}

describe('a profile of regions', () => {
  it('a profile of regions is read from its file; the format version of the file makes older readers refuse it', () => {
    const bytes = encodeProfile(profile)
    expect(bytes.readUInt32LE(8)).toBe(3)
    expect(decodeProfile(bytes, 'p')).toEqual(profile)
    expect(encodeProfile(profileOf('main 1x 1ns')).readUInt32LE(8)).toBe(1)
  })

  it('a damaged profile of regions is refused', () => {
    const wrong = (change: Partial<RegionTimes>) => () =>
      decodeProfile(encodeProfile({ ...profile, regions: [{ ...REGION, ...change }] }), 'p')
    expect(wrong({ method: 2 })).toThrow('a method without a name')
    expect(wrong({ count: -1 })).toThrow('damaged')
    expect(wrong({ lastNs: [Number.NaN] })).toThrow('damaged')
    expect(wrong({ buckets: [[1, 2] as unknown as [number, number, number]] })).toThrow('damaged')
  })

  it('JSON has an entry for each region, by name', () => {
    const { regions, merged } = JSON.parse([...jsonPieces(profile)].join(''))
    expect(merged).toEqual([])
    expect(regions).toHaveLength(2)
    const { class: className, method, lines, ratePerSecond, buckets } = regions[0]
    expect([className, method, lines, ratePerSecond]).toEqual(['com.acme.App', 'main', { from: 3, to: 4 }, 2])
    expect(buckets[1]).toEqual({ fromNs: 4990, toNs: 5010, count: 2 })
  })

  it('the report of regions has a table and a histogram per executed region', () => {
    const lines = reportText(profile).split('\n')
    expect(lines.find((it) => it.startsWith('regions'))).toBe('regions   App.main:3-4, App.main')
    expect(lines).toContainEqual(
      expect.stringMatching(/^ +4 +2\.00 +15\.3 µs +5\.00 µs +50\.0 µs +50\.0 µs {2}/),
    )
    expect(lines).toContainEqual(expect.stringMatching(/^ +0 +0( +-){4} {2}com\.acme\.App\.main$/))
    expect(lines.filter((it) => it.includes('com.acme.App.main(int):3-4'))).toHaveLength(1)
    expect(lines).toContainEqual(expect.stringMatching(/^ +5\.00 µs +7\.00 µs +2 +50\.0 % █+$/))
    expect(lines).toContain('count     █▃')
    expect(Math.max(...lines.map((it) => it.length))).toBeLessThanOrEqual(80)
  })
})

describe('formats of numbers in a profile of regions', () => {
  it.each([
    [0, '0 ns'],
    [4.56, '4.6 ns'],
    [99.4, '99 ns'],
    [850.4, '850 ns'],
    [999.6, '1.00 µs'],
    [12_345, '12.3 µs'],
    [999_600, '1.00 ms'],
    [4.56e9, '4.56 s'],
    [5.9e12, '5900 s'],
    [7.38e12, '2:03 h'],
    [3.6e15, '1000:00 h'],
    [Number.NaN, '-'],
  ])('a duration of %d ns is shown as %s', (ns, text) => {
    expect(time(ns)).toBe(text)
  })

  it('executions per second are shown with significant digits', () => {
    expect([0, 0.001, 0.25, 12.34, 41_200].map(perSecond)).toEqual(['0', '1e-3', '0.25', '12.3', '41200'])
  })

  it('charts of regions have lines and bars', () => {
    expect(sparkline([0, 1, 4, 8], BARS)).toBe(' ▁▄█')
    expect(sparkline([0, 0], BARS)).toBe('  ')
    expect([bar(0, 4, BARS), bar(0.001, 4, BARS), bar(1, 4, BARS), bar(0.625, 4, BARS)]).toEqual([
      '',
      '▏',
      '████',
      '██▌',
    ])
    expect(bar(0.5, 4, ASCII_BARS)).toBe('##')
  })
})

describe('rows of a histogram of durations', () => {
  it('histogram rows have round bounds that fit the column, and the last row contains the longest 0.1 % of executions', () => {
    const rows = barRows(
      [
        [100, 102, 900],
        [140, 142, 5000],
        [190, 192, 99],
        [1e6, 1e6 + 10, 1],
      ],
      12,
    )
    expect(rows).toEqual([
      { fromNs: 100, toNs: 120, count: 900 },
      { fromNs: 120, toNs: 150, count: 5000 },
      { fromNs: 150, toNs: 1e6 + 10, count: 100 },
    ])
  })

  it('the number of histogram rows is limited, and the rows cover all durations', () => {
    const decades = Array.from({ length: 12 }, (_, i): [number, number, number] => [10 ** i, 10 ** i + 1, 1])
    for (const most of [3, 7, 12]) {
      const rows = barRows([[0, 0, 5], ...decades], most)
      expect(rows.length).toBeLessThanOrEqual(most)
      expect(rows.reduce((sum, it) => sum + it.count, 0)).toBe(17)
    }
    expect(barRows([[0, 0, 5]], 8)).toEqual([{ fromNs: 0, toNs: 1, count: 5 }])
    expect(barRows([], 8)).toEqual([])
  })
})
