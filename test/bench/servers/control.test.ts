import { describe, expect, it } from 'vitest'
import type { Row } from './analysis.mjs'
import { redefinitionsOf } from './control.mjs'

const row = (name: string, known: 'timed' | 'sampled', children: readonly Row[] = []): Row => ({
  ...{ class: name, calls: 1, selfNs: 1, known, children },
})
const marks = { begin: 1_000, ending: 61_900, exit: 62_100 }
const merged = [row('a.B$C', 'timed', [row('a.D', 'sampled', [row('a.E', 'timed')])]), row('a.B$C', 'timed')]
const pause = { predictedMs: 30, measuredMs: 40 }
const profile = (pauses: number) => ({
  ...{ startedAt: '1970-01-01T00:00:01.900Z', merged },
  stacks: { rowsFromMs: 11_000, pauses: Array.from({ length: pauses }, () => pause) },
})

describe('redefinitions of a control run, which has the redefinitions of a session and no probes', () => {
  it('the second redefinition has the classes of timed rows, a second before the rows begin', () => {
    expect(redefinitionsOf(marks, profile(2))).toEqual([
      { afterMs: 900, classes: ['a.B$C'] },
      { afterMs: 10_900, classes: ['a.B$C', 'a.E'] },
      { afterMs: 60_900, classes: ['a.B$C', 'a.E'] },
    ])
  })

  it('a session with one redefinition has no second one', () => {
    expect(redefinitionsOf(marks, profile(1)).map(({ afterMs }) => afterMs)).toEqual([900, 60_900])
  })

  it('a session whose output has no end of the recording is restored when its client ends', () => {
    const [, last] = redefinitionsOf({ ...marks, ending: null }, profile(1))
    expect(last?.afterMs).toBe(61_100)
  })
})
