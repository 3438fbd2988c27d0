// Samples per source line.

import { describe, expect, it } from 'vitest'
import { LineSamples, linesIn } from '../../src/cct/line-samples.ts'

const [MAIN, WORK, LEAF] = [1, 2, 3] as const

describe('samples per source line', () => {
  it('a sample counts for the line of each frame as total, and for the line of the innermost frame also as self', () => {
    const samples = new LineSamples()
    samples.add([MAIN, WORK, LEAF], [10, 21, 31])
    samples.add([MAIN, WORK], [10, 22], 3)
    samples.add([MAIN, WORK, LEAF], [11, 21, 32])
    expect(samples.of(WORK)).toEqual({
      samples: 3,
      total: 5,
      lines: [
        { line: 21, self: 0, total: 2 },
        { line: 22, self: 3, total: 3 },
      ],
    })
    expect(samples.of(MAIN)?.lines).toEqual([
      { line: 10, self: 0, total: 4 },
      { line: 11, self: 0, total: 1 },
    ])
  })

  it('a line of a recursive method counts once per stack, so no share exceeds 100 %', () => {
    const samples = new LineSamples()
    samples.add([MAIN, WORK, WORK, WORK], [10, 21, 21, 23])
    samples.add([MAIN, WORK, WORK], [10, 21, 21])
    expect(samples.of(WORK)).toEqual({
      samples: 2,
      total: 2,
      lines: [
        { line: 21, self: 1, total: 2 },
        { line: 23, self: 1, total: 1 },
      ],
    })
  })

  it('a sample without a line number counts for the method, and for no line of the method', () => {
    const samples = new LineSamples()
    samples.add([MAIN, LEAF], [10, -1])
    samples.add([MAIN, LEAF], [10, 0])
    samples.add([MAIN, LEAF], [10, 31])
    expect(samples.of(LEAF)).toEqual({ samples: 3, total: 3, lines: [{ line: 31, self: 1, total: 1 }] })
    expect(samples.of(WORK)).toBeUndefined()
    samples.reset()
    expect(samples.of(LEAF)).toBeUndefined()
  })

  it('the table of all methods contains the same samples per line, even for a method with several ids', () => {
    const samples = new LineSamples()
    samples.add([MAIN, WORK, LEAF], [10, 21, 31])
    samples.add([MAIN, WORK], [10, 22], 2)
    const table = samples.table((method) => (method === WORK ? [7, 8] : [method]))
    for (const id of [7, 8]) expect(linesIn(table, id)).toEqual(samples.of(WORK))
    expect(linesIn(table, LEAF)).toEqual(samples.of(LEAF))
    expect(linesIn(table, WORK)).toBeUndefined()
  })
})
