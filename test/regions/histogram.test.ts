// Durations in buckets of limited width, and percentiles as if each duration had been kept.

import { describe, expect, it } from 'vitest'
import { bucketOf, bucketStart, Histogram } from '../../src/regions/histogram.ts'
import { seeded } from '../profile/trees.ts'

const LARGEST = Number.MAX_SAFE_INTEGER

describe('buckets of a histogram', () => {
  it('a bucket for values below 512 contains one value; a bucket for larger values is no wider than 1/256 of its values', () => {
    for (let value = 0; value < 512; value++) expect(bucketStart(bucketOf(value))).toBe(value)
    const random = seeded(1)
    const edges = Array.from({ length: 58 }, (_, e) => [2 ** e - 1, 2 ** e]).flat()
    const any = Array.from({ length: 5000 }, () => Math.floor(2 ** (random() * 58)))
    for (const value of [...edges, ...any, LARGEST]) {
      const bucket = bucketOf(value)
      const [from, to] = [bucketStart(bucket), bucketStart(bucket + 1)]
      expect(from, String(value)).toBeLessThanOrEqual(value)
      expect(to, String(value)).toBeGreaterThan(value)
      expect(to - from, String(value)).toBeLessThanOrEqual(Math.max(1, value / 256))
    }
  })

  it('each bucket begins where the previous bucket ends', () => {
    for (let bucket = 0; bucket < bucketOf(LARGEST); bucket++)
      if (bucketOf(bucketStart(bucket)) !== bucket) expect.fail(`bucket ${bucket}`)
  })
})

describe('a histogram', () => {
  it('a histogram keeps count, sum, minimum, maximum and the count per bucket', () => {
    const histogram = new Histogram()
    for (const value of [3, 3, 700, LARGEST]) histogram.record(value)
    expect(histogram).toMatchObject({ count: 4, sum: 706 + LARGEST, min: 3, max: LARGEST })
    const { bucket, count } = histogram.buckets()
    expect([...count]).toEqual([2, 1, 1])
    expect([...bucket]).toEqual([3, bucketOf(700), bucketOf(LARGEST)])
    histogram.clear()
    expect([histogram.count, histogram.buckets().bucket.length]).toEqual([0, 0])
  })
})
