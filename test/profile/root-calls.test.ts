import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { CorruptProfile } from '../../src/profile/errors.ts'
import { decodeProfile, encodeProfile } from '../../src/profile/file.ts'
import { jsonPieces } from '../../src/profile/json.ts'
import { reportText } from '../../src/profile/report.ts'
import { reproducible } from '../../src/profile/reproducible.ts'
import { TIMED } from './root-calls.ts'
import { profileOf } from './trees.ts'

const profile = profileOf('main 4252x 10ns ( work 3x -4ns )', TIMED)

describe('root calls of a profile', () => {
  it('the report has a line about root calls', () => {
    assert.match(
      reportText(profile),
      /^latency {3}of 4,252 calls: p50 1.20 ms, p95 3.40 ms, p99 12.0 ms, max 180 ms$/m,
    )
    assert.doesNotMatch(reportText(profileOf('main 1x 10ns')), /^took/m)
  })

  it('the report has a line about unfinished root calls', () => {
    const open = profileOf('main 2x 10ns', { rootCalls: { ...TIMED.rootCalls, count: 0 } })
    assert.match(reportText(open), /^latency {3}no root call has returned: times end with the recording$/m)
    const none = profileOf('', { rootCalls: { ...TIMED.rootCalls, count: 0 } })
    assert.doesNotMatch(reportText(none), /^took/m)
  })

  it('root calls that are measured in bytecodes are shown in bytecodes, not as times', () => {
    const rootCalls = { ...TIMED.rootCalls, unit: 'bytecodes' as const }
    assert.match(reportText({ ...profile, rootCalls }), /^latency {3}of 4,252 calls: p50 1,200,000 bc, /m)
  })

  it('root calls and the timeline are read from a file, and are absent if the file has no such data', () => {
    assert.deepEqual(decodeProfile(encodeProfile(profile), 'p'), profile)
    const { rootCalls: _, ...course } = profile.course!
    const counted = { ...profileOf('main 1x 10ns'), course }
    assert.deepEqual(decodeProfile(encodeProfile(counted), 'p'), counted)
    assert.equal(decodeProfile(encodeProfile(profileOf('main 1x 1ns')), 'p').course, undefined)
  })

  it.each([
    ['course', { first: -1 }],
    ['course', 7],
    ['course', { ...TIMED.course, waitNs: new Float64Array(2) }],
    ['course', { ...TIMED.course, pauses: Float64Array.of(1, Number.NaN, 1) }],
    ['rootCalls', { ...TIMED.rootCalls, unit: 'minutes' }],
    ['rootCalls', { ...TIMED.rootCalls, buckets: [[1, 2]] }],
    ['rootCalls', { ...TIMED.rootCalls, percentiles: {} }],
  ])('damaged root calls are refused (key %s, case %#)', (key, value) => {
    const file = encodeProfile({ ...profile, [key]: value } as typeof profile)
    assert.throws(() => decodeProfile(file, 'p'), CorruptProfile)
  })

  it('JSON has one object for all root calls, and one object per second with the root calls of that second', () => {
    const { rootCalls, course } = JSON.parse([...jsonPieces(profile)].join('')) as {
      rootCalls: { count: number; buckets?: unknown }
      course: { firstSecond: number; seconds: unknown[] }
    }
    assert.deepEqual([rootCalls.count, rootCalls.buckets, course.firstSecond], [4252, undefined, 7])
    assert.deepEqual(course.seconds[1], {
      ...{ calls: 52, mean: 6e6, p50: 5e6, p95: 20e6, max: 180e6 },
      ...{ events: 1000, waitNs: 1e6, pauses: 2, pauseNs: 30e6 },
    })
  })

  it('a reproducible profile has no timeline', () => {
    assert.equal(reproducible(profile).course, undefined)
  })
})
