// Noise of a comparison: variances from parts, and rows and root calls that exceed the noise.

import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { SAMPLED, TIMED } from '../../src/cct/merge-samples.ts'
import type { CallBucket } from '../../src/cct/root-calls.ts'
import type { SegmentTimes } from '../../src/cct/segments.ts'
import { exceedsNoise } from '../../src/profile/changed-root-calls.ts'
import { changesOf } from '../../src/profile/changes.ts'
import { changesPieces } from '../../src/profile/changes-text.ts'
import { noiseOf, percentilesOfParts, varianceOf } from '../../src/profile/noise.ts'
import { segmentsOf } from '../../src/profile/parts.ts'
import type { Profile } from '../../src/profile/profile.ts'
import { ofRange } from '../../src/profile/range.ts'
import { together } from '../../src/profile/together.ts'
import { bucketOf } from '../../src/regions/histogram.ts'
import { profileOf } from './trees.ts'

const near = (one: number | null | undefined, other: number) =>
  assert.ok(Math.abs((one ?? Number.NaN) - other) < 1e-9 * Math.abs(other), `${one} instead of ${other}`)

describe('the noise of a quotient', () => {
  it('the variance follows from the quotients of the parts, weighted by their divisors', () => {
    // Equal divisors: the variance of the mean of 1, 2 and 3 is 1 / 3.
    const equal = varianceOf([1, 2, 3].map((each) => ({ cost: each * 10, by: 10 })))
    near(equal?.variance, 1 / 3)
    assert.equal(equal?.parts, 3)
    // 2 × (1 − 1.75)² … : divisors 1 and 3, quotients 1 and 2, mean 7 / 4.
    near(
      varianceOf([
        { cost: 1, by: 1 },
        { cost: 6, by: 3 },
      ])?.variance,
      (((1 - 1.75) ** 2 + (6 - 5.25) ** 2) / 16) * 2,
    )
    assert.equal(
      varianceOf([
        { cost: 1, by: 1 },
        { cost: 0, by: 0 },
      ]),
      null,
    )
  })

  it('few parts have a larger noise than three standard errors', () => {
    const of = (parts: number) => ({ variance: 0.5, parts })
    near(noiseOf(of(12), of(12)), 3)
    near(noiseOf(of(2), of(2)), 9.92)
    assert.equal(noiseOf(of(12), null), null)
  })
})

describe('percentiles of several parts', () => {
  const at = (value: number, count: number): CallBucket => [value, value, count]

  it('percentiles are those of all calls of the parts', () => {
    const [p50, p99] = percentilesOfParts([[at(1, 90)], [at(1, 8), at(9, 2)]], [0.5, 0.99])
    assert.deepEqual([p50?.value, p99?.value], [1, 9])
    assert.deepEqual(percentilesOfParts([[], []], [0.5]), [])
  })

  it('the variance of a percentile is that of the percentiles without one part', () => {
    const [same] = percentilesOfParts([[at(5, 10)], [at(5, 10)], [at(5, 10)]], [0.5])
    assert.equal(same?.variance?.variance, 0)
    // Without one part at a time the median is 3, 9 and 3. Their mean is 5, the sum of squares 24.
    const [apart] = percentilesOfParts([[at(1, 1)], [at(3, 2)], [at(9, 2)]], [0.5])
    assert.equal(apart?.value, 3)
    near(apart?.variance?.variance, (24 * 2) / 3)
    assert.equal(percentilesOfParts([[at(1, 1)]], [0.5])[0]?.variance, null)
  })
})

describe('the comparison of several recordings', () => {
  // A root call costs 1 ms, of which `work` takes a part that differs between recordings, and `idle` the rest.
  const recording = (work: number, p99 = 2e6): Profile => {
    const profile = profileOf(`main 100x 0ns ( work 100x ${work * 1e5}ns idle 100x ${1e8 - work * 1e5}ns )`)
    const buckets: CallBucket[] = [
      [1e6, 1e6, 95],
      [p99, p99, 5],
    ]
    const percentiles = { '50': 1e6, '90': 1e6, '95': 1e6, '99': p99, '99.9': p99 }
    const facts = { unit: 'ns', count: 100, total: 1e8, min: 1e6, mean: 1e6, max: p99 } as const
    return { ...profile, rootCalls: { ...facts, percentiles, buckets } }
  }
  const changes = (before: readonly Profile[], after: readonly Profile[]) =>
    changesOf(together(before), together(after), { parts: { before, after } })

  it('a row is significant if its change exceeds the noise between the recordings', () => {
    const before = [300, 310, 320, 330].map((it) => recording(it))
    const same = changes(
      before,
      [310, 320, 330, 340].map((it) => recording(it)),
    )
    assert.deepEqual(
      same.methods.map(({ isSignificant }) => isSignificant),
      [false, false, false],
    )
    assert.equal(same.knowsNoise, true)
    const slower = changes(
      before,
      [410, 420, 430, 440].map((it) => recording(it)),
    )
    assert.deepEqual(
      slower.methods
        .filter((it) => it.isSignificant)
        .map(({ name }) => name.method)
        .sort(),
      ['idle', 'work'],
    )
    // Standard error of a side: √(5/3) × 100 µs / √4 = 64.5 µs; of the difference 91.3 µs; 6 degrees of freedom: 3.71.
    const work = slower.methods.find(({ name }) => name.method === 'work')
    near(work?.noise.self, 3.71 * Math.sqrt((2 * (5 / 3) * 1e8) / 4))
  })

  it('a change of less than a hundredth of a root call is no row, also if there is no noise', () => {
    const of = (work: number) => [recording(work), recording(work)]
    const significant = (after: number) =>
      changes(of(300), of(after)).methods.filter((it) => it.isSignificant)
    assert.equal(significant(309).length, 0)
    assert.equal(significant(311).length, 2)
  })

  it('a percentile within the noise is marked, and a percentile beyond the noise is not', () => {
    const before = [recording(300, 2e6), recording(300, 2.2e6), recording(300, 2.4e6), recording(300, 2.6e6)]
    const lead = (after: Profile[]) => changes(before, after).lead
    const p99 = (after: Profile[]) => lead(after).find(({ key }) => key === 'p99')!
    assert.deepEqual(
      lead(before).map(({ key }) => key),
      ['rate', 'mean', 'p50', 'p95', 'p99'],
    )
    assert.equal(exceedsNoise(p99(before)), false)
    assert.equal(exceedsNoise(p99([9e6, 9.1e6, 9.2e6, 9.3e6].map((it) => recording(300, it)))), true)
  })

  it('the report prints the noise of rows, and marks root calls within the noise', () => {
    const compared = (path: string, of: readonly Profile[]) => ({ path, profile: together(of) })
    const before = [300, 310, 320, 330].map((it) => recording(it, it * 1e4))
    const after = [410, 420, 430, 440].map((it) => recording(it, it * 7e3))
    const [one, other] = [compared('a.jfluid', before), compared('b.jfluid', after)]
    const found = changes(before, after)
    const text = [...changesPieces(one, other, found, [])].join('')
    assert.match(text, /^ {2}p99 +\d.*within noise \(±\d+\.\d %\)$/m)
    assert.match(text, /^2 methods changed by more than the noise$/m)
    assert.match(text, /^ \+110\.0 µs {2}315\.0 µs {2}425\.0 µs ±33\.87 µs {2}com\.acme\.App\.work$/m)
    assert.doesNotMatch(text, /noise between two recordings is unknown/)
  })
})

/** A recording of segments of 5 s, in each of which `main` is called 100 times, with these self times of `work` per call, in ns. */
function ofSegments(works: readonly number[]): Profile {
  const sum = works.reduce((all, it) => all + it, 0)
  const calls = 100 * works.length
  const profile = profileOf(`main ${calls}x 0ns ( work ${calls}x ${100 * sum}ns )`, {
    durationMs: 5000 * works.length,
  })
  const segments: SegmentTimes = {
    ...{ widthMs: 5000, isCut: false, perTick: 1 },
    method: Int32Array.of(1, 2),
    parent: Int32Array.of(-1, 0),
    size: Int32Array.of(2, 1),
    segments: works.map((work, i) => ({
      ...{ beginMs: 5000 * i, endMs: 5000 * (i + 1), epoch: 0 },
      row: Int32Array.of(0, 1),
      calls: Float64Array.of(100, 100),
      self: Float64Array.of(0, 100 * work),
      rootCalls: { sum: 100 * work, bucket: Int32Array.of(bucketOf(work)), count: Float64Array.of(100) },
    })),
  }
  return { ...profile, segments }
}

describe('the comparison of segments', () => {
  const works = [1000, 1040, 1010, 1050]

  it('a recording of four segments has a part for each segment, and a shorter recording has one part', () => {
    const profile = ofSegments(works)
    const parts = segmentsOf(profile, profile)
    assert.deepEqual(
      parts.map(({ merged, durationMs }) => [merged.metrics.totalNs![0], durationMs]),
      works.map((work) => [100 * work, 5000]),
    )
    const short = ofSegments([1000, 1040, 1010])
    assert.deepEqual(segmentsOf(short, short), [short])
    const range = ofRange(ofSegments([...works, 9000]), { toMs: 20_000 }, 'p.jfluid')
    assert.equal(segmentsOf(ofSegments([...works, 9000]), range).length, 4)
  })

  it('a change within the variation of the segments is no row, and a larger change is a row', () => {
    const significant = (after: readonly number[]) => {
      const [one, other] = [ofSegments(works), ofSegments(after)]
      const parts = { before: segmentsOf(one, one), after: segmentsOf(other, other) }
      return changesOf(one, other, { parts }).methods.filter((it) => it.isSignificant)
    }
    assert.deepEqual(significant([1050, 1060, 1020, 1050]), [])
    assert.deepEqual(
      significant([1500, 1540, 1510, 1550]).map(({ name }) => name.method),
      ['work'],
    )
  })
})

describe('the noise of sampled rows', () => {
  // 100 root calls of 1 ms. Of 100 samples, 40 are in `work` and 60 in the root itself.
  const sampled = (work: number, samples: number): Profile => {
    const profile = profileOf(`main 100x ${1e8 - work}ns ( work 100x ${work}ns )`)
    const { metrics } = profile.merged
    const share = work / 1e8
    const sdNs = Float64Array.of(0, 1e8 * Math.sqrt((share * (1 - share)) / samples))
    const known = Float64Array.of(TIMED, SAMPLED)
    const counted = Float64Array.of(samples, samples * share)
    return {
      ...profile,
      merged: { ...profile.merged, metrics: { ...metrics, known, sdNs, samples: counted } },
    }
  }

  it('the noise of a sampled row, and of the timed row above it, follows from the number of samples', () => {
    const [work, main] = ['work', 'main'].map((method) =>
      changesOf(sampled(4e7, 100), sampled(4e7, 100)).methods.find(({ name }) => name.method === method),
    )
    // Three standard errors of the difference of two shares of 0.4 of 1 ms.
    const expected = 3 * 1e6 * Math.sqrt((2 * 0.4 * 0.6) / 100)
    near(work?.noise.self, expected)
    near(main?.noise.self, expected)
    const rows = (samples: number) =>
      changesOf(sampled(4e7, samples), sampled(5e7, samples)).methods.filter((it) => it.isSignificant).length
    assert.equal(rows(100), 0)
    assert.equal(rows(1000), 2)
  })
})
