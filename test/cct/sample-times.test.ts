import { describe, expect, it } from 'vitest'
import { InsideSamples, samplesBetween } from '../../src/cct/inside-samples.ts'
import { KeptSamples } from '../../src/cct/sample-times.ts'

const frames = ['root', 'work', 'rest'].map((method) => ({ className: 'a.B', method, line: 1 }))
/** Stack 1 is root; 2 is work below root; 3 is rest below root. */
const stacks = Int32Array.of(0, 0, 1, 1, 1, 2)
const sample = (stack: number, ticks: number, weight = 10) => ({
  ...{ thread: 1, number: 1, stack, state: 1, call: ticks, ticks, weight },
})

describe('samples with their times', () => {
  it('the samples of a range are those between its bounds, also from before a reset', () => {
    const all = new InsideSamples()
    all.add({ frames, stacks, samples: [sample(2, 100), sample(3, 200)] })
    all.reset()
    all.add({ frames: [], stacks: new Int32Array(0), samples: [sample(3, 300), sample(2, 400, 30)] })
    expect(all.count).toBe(2)
    const times = all.times((ticks) => ticks / 10)
    expect(Array.from(times.ms)).toEqual([10, 20, 30, 40])
    const part = samplesBetween(times, 20, 40)
    expect(part.count).toBe(2)
    const seen = [...part.seen()].map(([stack, { samples }]) => [
      part.frames[part.frameOf[stack]!]!.method,
      samples,
    ])
    expect(seen).toEqual([['rest', 2]])
    all.resetTimes()
    expect(all.times((it) => it).ms).toHaveLength(0)
  })

  it('above the limit, half of the older samples remain and represent the time of all', () => {
    const kept = new KeptSamples(1000)
    for (let i = 0; i < 2500; i++) kept.add(sample(1, i))
    const { ms, weight } = kept.times((it) => it)
    expect(ms.length).toBeLessThanOrEqual(1000)
    expect(Math.abs(weight.reduce((sum, it) => sum + it, 0) - 25_000)).toBeLessThan(500)
    expect([...ms]).toEqual([...ms].toSorted((a, b) => a - b))
    expect(ms.at(-1)).toBe(2499)
  })
})
