import { describe, expect, it } from 'vitest'
import type { SegmentState } from '../../src/cct/segments.ts'
import { decodeProfile, encodeProfile } from '../../src/profile/file.ts'
import type { Profile } from '../../src/profile/profile.ts'
import { NoSuchRange, NoTimeRanges, ofRange, rangeText } from '../../src/profile/range.ts'
import { reportText } from '../../src/profile/report.ts'
import { recorded, SEGMENTS } from './recorded-segments.ts'

const rowsOf = ({ merged, methodNames }: Profile) =>
  Array.from(merged.method, (id, node) => [
    methodNames[id]!.method,
    merged.metrics.calls![node],
    merged.metrics.selfNs![node],
    merged.metrics.totalNs![node],
  ])

describe('ofRange', () => {
  it('returns the rows and root calls of the segments that the range touches', () => {
    const part = ofRange(recorded(), { fromMs: 6000, toMs: 12_000 }, 'p.jfluid')
    expect(part.range).toEqual({
      ...{ fromMs: 5000, toMs: 15_000, segmentMs: 5000, rowsFromMs: 5000, rowsToMs: 15_000, ofMs: 18_000 },
      recordingStartedAt: recorded().startedAt,
    })
    expect(rowsOf(part)).toEqual([
      ['main', 5, 12, 972],
      ['early', 2, 60, 60],
      ['late', 3, 900, 900],
    ])
    expect(Array.from(part.merged.size)).toEqual([3, 1, 1])
    expect(part.rootCalls).toMatchObject({ unit: 'ns', count: 3, total: 2 * 650 })
    expect(part.durationMs).toBe(10_000)
    expect(part.startedAt).toBe(new Date(Date.parse(recorded().startedAt) + 5000).toISOString())
  })

  it('has rows for the samples in the range, and one row for frames of methods with short calls', () => {
    const { class: className } = recorded().methodNames[1]!
    const frames = ['main', 'tiny', 'deep'].map((method) => ({ className, method }))
    // main, main > tiny, main > tiny > deep: one sample of each every 10 ms
    const stacks = Int32Array.of(0, 0, 1, 1, 2, 2)
    const stack = Int32Array.from({ length: 3000 }, (_, at) => (at % 3) + 1)
    const zeros = new Int32Array(stack.length)
    const samples = {
      ...{ frames, stacks, stack, thread: zeros, state: zeros, call: new Float64Array(zeros) },
      ms: Float64Array.from(stack, (_, at) => at * 5),
      weight: new Float64Array(stack.length).fill(1),
    }
    const rows = (shortMethods: Profile['shortMethods']) => {
      const whole = recorded({ ...SEGMENTS, samples })
      const part = ofRange(
        { ...whole, ...(shortMethods && { shortMethods }) },
        { fromMs: 6000, toMs: 9000 },
        'p',
      )
      const { methodNames, merged } = part
      return Array.from(merged.method, (id, node) => [methodNames[id]!.method, merged.metrics.samples![node]])
    }
    const short = [{ class: className, method: 'tiny', callsPerSecond: 1, meanNs: 20 }]
    expect(rows(undefined)).toEqual(
      expect.arrayContaining([
        ['main', 1000],
        ['tiny', 667],
        ['deep', 333],
      ]),
    )
    expect(rows(short)).toEqual(
      expect.arrayContaining([
        ['main', 1000],
        ['(short methods)', 667],
        ['deep', 333],
      ]),
    )
    expect(rows(short).map(([name]) => name)).not.toContain('tiny')
  })

  it('leaves out a segment of which less than a tenth is in the range', () => {
    const facts = (fromMs: number, toMs: number) => {
      const { range } = ofRange(recorded(), { fromMs, toMs }, 'p')
      return [range!.fromMs, range!.toMs]
    }
    expect(facts(4990, 10_010)).toEqual([5000, 10_000])
    expect(facts(4400, 10_600)).toEqual([0, 15_000])
    expect(facts(4990, 4995)).toEqual([0, 5000])
  })

  it('leaves out contexts that did not change in the range', () => {
    expect(rowsOf(ofRange(recorded(), { toMs: 3000 }, 'p')).map(([name]) => name)).toEqual(['main', 'early'])
    expect(rowsOf(ofRange(recorded(), { fromMs: 16_000 }, 'p'))).toEqual([['main', 1, 1, 1]])
  })

  it('returns the whole profile without bounds, and the sum of all segments for a range of everything', () => {
    const whole = recorded()
    expect(ofRange(whole, {}, 'p')).toBe(whole)
    expect(rowsOf(ofRange(whole, { fromMs: 0 }, 'p'))).toEqual(rowsOf(whole))
  })

  it('contains the values per second and the slow calls of the range', () => {
    const call = { number: 1, thread: { id: 1, name: 'a' }, method: 1, time: 5 }
    const slow = {
      ...{ unit: 'ns' as const, threshold: 'p99' as const, thresholdNow: 3e6, count: 400, dropped: 7 },
      latest: null,
      threw: { count: 12, latest: [{ ...call, atMs: 7500, threw: 'java.lang.Error' }] },
      slowest: [
        { ...call, atMs: 7500 },
        { ...call, atMs: 12_000 },
      ],
    }
    const part = ofRange({ ...recorded(), slowCalls: slow }, { fromMs: 5000, toMs: 9000 }, 'p')
    expect(part.course!.first).toBe(7)
    expect(Array.from(part.course!.events)).toEqual([40_000, 1000, 44_000])
    expect(part.slowCalls!.slowest.map((it) => it.atMs)).toEqual([7500])
    expect(part.slowCalls).toMatchObject({
      ...{ count: 1, dropped: 0, threw: { count: 1 }, ofRecording: { count: 400, threwCount: 12 } },
    })
    const text = reportText(part)
    expect(text).toContain(`
Slow calls kept of this range: 1 call above p99
The whole recording has 400 slow calls. jfluid keeps only the 10 slowest.
  duration`)
    expect(text).toContain('(in this range, from the latest of 12 calls that an exception ended)')
    expect(text).not.toContain('too large')
  })

  it('contains no numbers of the whole recording about values and unfinished calls', () => {
    const getters = { calls: 1_204_310, ns: 5e8, longestNs: 2e6, late: 3, threw: 1 }
    const values = { show: ['arg0.id'], by: 'arg0.uri', getters, dropped: 512 }
    const part = ofRange({ ...recorded(), values, openCalls: 4 }, { fromMs: 5000 }, 'p')
    expect(part.values).toEqual({ show: ['arg0.id'], by: 'arg0.uri', dropped: 0 })
    expect(part.openCalls).toBeUndefined()
  })

  it('has the rows of the longest epoch, and the root calls of all epochs', () => {
    const [a, b, c, d] = SEGMENTS.segments as [SegmentState, SegmentState, SegmentState, SegmentState]
    const segments = [
      { ...a, endMs: 3100 },
      { ...b, beginMs: 3100, epoch: 1 },
      { ...c, epoch: 1 },
      { ...d, epoch: 1 },
    ]
    const part = ofRange(recorded({ ...SEGMENTS, segments }), { toMs: 9000 }, 'p')
    expect(rowsOf(part)).toEqual([
      ['main', 2, 5, 65],
      ['early', 2, 60, 60],
    ])
    expect(part.rootCalls!.count).toBe(3)
    expect(rangeText(part.range!)).toBe(
      '0 s to 10.0 s of 18.0 s (rounded to segments of 5.0 s), all threads together; the set of timed methods changed: rows are of 3.1 s to 10.0 s, latency is of the whole range',
    )
  })

  it('names the part that the rows cover, if the rows of another part were discarded', () => {
    const segments = SEGMENTS.segments.map((it, i) =>
      i === 1 ? { ...it, rowsMs: [6000, 10_000] as const } : it,
    )
    const written = encodeProfile(recorded({ ...SEGMENTS, segments }))
    const part = ofRange(decodeProfile(written, 'p'), { fromMs: 5000, toMs: 10_000 }, 'p')
    expect([part.range!.rowsFromMs, part.range!.rowsToMs]).toEqual([6000, 10_000])
    expect(rangeText(part.range!)).toContain('rows are of 6.0 s to 10.0 s')
  })

  it('the report names the range, and how it was rounded', () => {
    const text = reportText(ofRange(recorded(), { fromMs: 12_000 }, 'p'))
    expect(text.replace(/\s+/g, ' ')).toContain(
      'range 10.0 s to 18.0 s of 18.0 s (rounded to segments of 5.0 s), all threads together calls',
    )
    expect(text).toMatch(/^calls {5}4 calls of the root$/m)
  })

  it.each<[string, Partial<Profile>, string]>([
    ['an earlier jfluid', {}, 'earlier jfluid'],
    ['several JVMs', { jvms: [] }, 'several JVMs'],
    ['allocations', { mode: 'alloc' }, '--mode alloc'],
    ['samples', { mode: 'sample' }, '--mode sample'],
    ['regions', { regions: [] }, 'regions'],
  ])('refuses a profile of %s, with the reason', (_, facts, reason) => {
    const { segments: __, ...without } = recorded()
    const ranged = () => ofRange({ ...without, ...facts }, { fromMs: 1 }, 'p.jfluid')
    expect(ranged).toThrow(NoTimeRanges)
    expect(ranged).toThrow(reason)
  })

  it('refuses an empty range, and a range after the end', () => {
    expect(() => ofRange(recorded(), { fromMs: 9000, toMs: 9000 }, 'p')).toThrow('from 9s to 9s is empty')
    expect(() => ofRange(recorded(), { fromMs: 18_000 }, 'p')).toThrow(NoSuchRange)
  })

  it('segments are the same after they were written to a file', () => {
    const whole = recorded()
    expect(decodeProfile(encodeProfile(whole), 'p').segments).toEqual(SEGMENTS)
  })
})
