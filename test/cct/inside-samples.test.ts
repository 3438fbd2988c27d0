// Stacks of threads inside roots: frames with lines become frames without lines, and the lines are counted apart.

import { describe, expect, it } from 'vitest'
import { InsideSamples } from '../../src/cct/inside-samples.ts'

const RUNNABLE = 1
const frame = (method: string, line: number, className = 'T') => ({ className, method, line })
const sample = (stack: number, weight: number) => ({
  ...{ thread: 7, number: 7, stack, state: RUNNABLE, call: 1, ticks: 0, weight },
})

describe('samples of stacks whose frames have line numbers', () => {
  it('stacks that differ only in line numbers count as one stack, and samples are counted for each line', () => {
    const samples = new InsideSamples()
    // Stacks 1: root:10; 2: root:10 work:20; 3: root:10 work:21; 4: root:11; 5: root:11 work:20.
    samples.add({
      frames: [frame('root', 10), frame('work', 20), frame('work', 21), frame('root', 11)],
      stacks: Int32Array.of(0, 0, 1, 1, 1, 2, 0, 3, 4, 1),
      samples: [sample(2, 1), sample(3, 2), sample(5, 4)],
    })
    expect(samples.frames).toEqual([
      { className: 'T', method: 'root' },
      { className: 'T', method: 'work' },
    ])
    expect([...samples.seen()].map(([stack, { samples }]) => [stack, samples])).toEqual([[2, 3]])
    expect(samples.linesOf('T', 'work')).toEqual({
      samples: 3,
      total: 7,
      lines: [
        { line: 20, self: 5, total: 5 },
        { line: 21, self: 2, total: 2 },
      ],
    })
    expect(samples.linesOf('T', 'root')?.lines).toEqual([
      { line: 10, self: 0, total: 3 },
      { line: 11, self: 0, total: 4 },
    ])
    expect(samples.linesOf('T', 'absent')).toBeUndefined()
  })

  it('if the innermost frame is a probe, the sample counts for the line of the method that contains the probe', () => {
    const samples = new InsideSamples()
    samples.add({
      frames: [frame('root', 10), frame('countEntry', 99, 'java.lang.JFluid1')],
      stacks: Int32Array.of(0, 0, 1, 1),
      samples: [sample(2, 1)],
    })
    expect(samples.linesOf('T', 'root')).toEqual({
      ...{ samples: 1, total: 1 },
      lines: [{ line: 10, self: 1, total: 1 }],
    })
    expect(samples.linesOf('java.lang.JFluid1', 'countEntry')).toBeUndefined()
  })

  it('samples before the current rows are found by their times, and are in no row', () => {
    const samples = new InsideSamples()
    const at = (ticks: number) => ({ ...sample(1, 1), ticks })
    const late = {
      frames: [frame('root', 10)],
      stacks: Int32Array.of(0, 0),
      samples: [at(5), at(15), at(25)],
    }
    samples.add(late, 10, 20) // 5 is before the recording
    expect(samples.count).toBe(1)
    expect(samples.linesOf('T', 'root')).toMatchObject({ samples: 1 })
    expect(samples.within([{ thread: 7, fromTicks: 0, toTicks: 20 }]).count).toBe(1)
    samples.reset()
    expect(samples.within([{ thread: 7, fromTicks: 0, toTicks: 30 }]).count).toBe(2)
  })

  it('a reset discards the samples per line, and later samples may refer to stacks sent before the reset', () => {
    const samples = new InsideSamples()
    samples.add({ frames: [frame('root', 10)], stacks: Int32Array.of(0, 0), samples: [sample(1, 1)] })
    samples.reset()
    expect(samples.linesOf('T', 'root')).toBeUndefined()
    samples.add({ frames: [], stacks: new Int32Array(0), samples: [sample(1, 3)] })
    const table = samples.lineTable(({ method }) => (method === 'root' ? [4, 5] : []))
    expect([...table.method]).toEqual([4, 4, 5, 5])
    expect([...table.total]).toEqual([3, 3, 3, 3])
  })

  it('the samples within calls are those of their threads and times, also of one of several virtual threads', () => {
    const samples = new InsideSamples()
    const at = (ticks: number, number: number, stack = 1) => ({
      ...sample(stack, 1),
      thread: 0,
      number,
      ticks,
    })
    samples.add({
      frames: [frame('root', 10), frame('work', 20)],
      stacks: Int32Array.of(0, 0, 1, 1),
      samples: [at(9, 3), at(10, 3), at(12, 4), at(20, 3, 2), at(21, 3)],
    })
    const counts = (...spans: [thread: number, fromTicks: number, toTicks: number][]) => {
      const found = samples.within(
        spans.map(([thread, fromTicks, toTicks]) => ({ thread, fromTicks, toTicks })),
      )
      return [...found.seen()].map(([stack, seen]) => [stack, seen.samples])
    }
    expect(counts([3, 10, 20])).toEqual([
      [1, 1],
      [2, 1],
    ])
    expect(counts([3, 10, 20], [4, 0, 99])).toEqual([
      [1, 2],
      [2, 1],
    ])
    expect(counts([5, 0, 99])).toEqual([])
    samples.resetTimes()
    expect(counts([3, 10, 20])).toEqual([])
  })
})
