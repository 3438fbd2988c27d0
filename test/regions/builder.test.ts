import { describe, expect, it } from 'vitest'
import { decodeEvents, WriterState } from '../../src/events/decode.ts'
import { CONTROL_ADJUST, CONTROL_EPOCH } from '../../src/events/event-layout.ts'
import { LAST, RegionBuilder } from '../../src/regions/builder.ts'
import { durationsOf } from '../../src/regions/times.ts'
import { controlWord, enterWord, exitWord } from '../events/fake-target.ts'
import { seeded } from '../profile/trees.ts'

const GATE = { mayBegin: () => true, mayTakeUp: () => true }
const scale = (innerTicks: number, nsPerTick: number) => ({
  calibration: { innerTicks, outerTicks: 3 },
  nsPerTick,
})
const PLAIN = scale(0, 1)

function told(builder: RegionBuilder, ...words: [number, number][]): number {
  const buffer = Uint32Array.from(words.flat())
  return decodeEvents(buffer, 0, buffer.length, new WriterState(1), builder, GATE) / 2
}

describe('executions of regions', () => {
  it('executions are recorded per region, and the time during which threads were stalled is recorded', () => {
    const builder = new RegionBuilder()
    told(builder, exitWord(1, 10), exitWord(2, 7), controlWord(CONTROL_ADJUST, 40), exitWord(1, 30))
    expect(builder.states().map(({ id, count, sum }) => [id, count, sum])).toEqual([
      [1, 2, 40],
      [2, 1, 7],
    ])
    expect([builder.waitTicks, builder.executed, builder.has(1), builder.has(3)]).toEqual([
      40,
      2,
      true,
      false,
    ])
  })

  it('for an execution of 2^40 ticks or more, the preceding epoch word contains the high bits of the duration', () => {
    const builder = new RegionBuilder()
    const long = 5 * 2 ** 40 + 123
    const words = [
      controlWord(CONTROL_EPOCH, 5),
      exitWord(1, long),
      controlWord(CONTROL_EPOCH, 0),
      exitWord(1, 9),
    ]
    expect(told(builder, ...words)).toBe(4)
    expect(builder.states()[0]).toMatchObject({ count: 2, min: 9, max: long })
  })

  it('in a session of regions, an entry word in the event data is refused', () => {
    expect(told(new RegionBuilder(), exitWord(1, 10), enterWord(1, 10))).toBe(1)
  })

  it('a reset sets the recorded executions of each region to zero', () => {
    const builder = new RegionBuilder()
    told(builder, exitWord(1, 10))
    builder.reset()
    expect(builder.states()[0]).toMatchObject({ count: 0, sum: 0 })
    told(builder, exitWord(1, 5))
    expect(builder.states()[0]).toMatchObject({ count: 1, min: 5, max: 5 })
    expect([...builder.states()[0]!.last]).toEqual([5])
  })
})

describe('the latest durations of a region', () => {
  it('the list of latest durations contains the last 1,024 executions, oldest first', () => {
    const builder = new RegionBuilder()
    for (let i = 1; i <= LAST + 3; i++) told(builder, exitWord(1, i))
    const last = [...builder.states()[0]!.last]
    expect(last).toEqual(Array.from({ length: LAST }, (_, i) => i + 4))
  })
})

describe('timeline of a region', () => {
  it('the timeline has half-second intervals, which become longer once there are more than 600', () => {
    let now = 1000
    const builder = new RegionBuilder(() => now)
    told(builder, exitWord(1, 10), exitWord(1, 30))
    now += 700
    told(builder, exitWord(1, 5))
    const [state] = builder.states()
    expect(state).toMatchObject({ intervalMs: 500, begunAt: 1000, firstAt: 1000, lastAt: 1700 })
    expect([[...state!.counts], [...state!.sums], [...state!.maxima]]).toEqual([
      [2, 1],
      [40, 5],
      [30, 5],
    ])
    now = 1000 + 3 * 600 * 500
    told(builder, exitWord(1, 1))
    const [later] = builder.states()
    expect(later!.intervalMs).toBe(2000)
    expect(later!.counts.length).toBe(451)
    expect([later!.counts[0], later!.sums[0], later!.maxima[0], later!.counts[450]]).toEqual([3, 45, 30, 1])
  })
})

describe('durations of executions', () => {
  it('durations are in ns and exclude the time of probes', () => {
    const builder = new RegionBuilder()
    // 10 - 4 = 6 and 24 - 4 = 20 ticks of 2 ns. A duration shorter than the calibration is zero, not negative.
    told(builder, exitWord(1, 10), exitWord(1, 24), exitWord(1, 2))
    const found = durationsOf(builder.states()[0]!, scale(4, 2))
    expect(found).toMatchObject({ count: 3, totalNs: (36 - 12) * 2, meanNs: 16, minNs: 0, maxNs: 40 })
    expect(found.lastNs).toEqual([12, 40, 0])
    expect(found.buckets.map(([, , count]) => count)).toEqual([1, 1, 1])
  })

  it('percentiles below 512 ticks are exact', () => {
    const seed = Date.now() % 1e9
    const random = seeded(seed)
    for (const number of [1, 2, 3, 10, 99, 100, 101, 1000, 12_345]) {
      const builder = new RegionBuilder()
      const all = Array.from({ length: number }, () => Math.floor(random() ** 3 * 512))
      for (const ticks of all) told(builder, exitWord(1, ticks))
      const { percentilesNs } = durationsOf(builder.states()[0]!, scale(7, 0.5))
      const sorted = all.toSorted((a, b) => a - b)
      for (const [percent, value] of Object.entries(percentilesNs)) {
        const exact = sorted[Math.ceil((Number(percent) / 100) * number - 1e-6) - 1]!
        expect(value, `p${percent} of ${number}, seed ${seed}`).toBe(Math.max(0, exact - 7) * 0.5)
      }
    }
  })

  it('percentiles differ by at most 0.4 % from the exact percentiles', () => {
    const seed = Date.now() % 1e9
    const random = seeded(seed)
    const builder = new RegionBuilder()
    const all = Array.from({ length: 20_000 }, () => Math.floor(100 * 1.5 ** (random() * 40)))
    for (const ticks of all) told(builder, exitWord(1, ticks))
    const { percentilesNs, minNs, maxNs } = durationsOf(builder.states()[0]!, PLAIN)
    const sorted = all.toSorted((a, b) => a - b)
    for (const [percent, value] of Object.entries(percentilesNs)) {
      const exact = sorted[Math.ceil((Number(percent) / 100) * all.length - 1e-6) - 1]!
      expect(Math.abs(value - exact) / exact, `p${percent}, seed ${seed}`).toBeLessThan(0.004)
    }
    expect([minNs, maxNs]).toEqual([sorted[0], sorted.at(-1)])
  })
})
