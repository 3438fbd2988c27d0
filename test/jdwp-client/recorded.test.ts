// Every command once, to what has been written down of a JVM.

import { describe, expect, it } from 'vitest'
import { COMMANDS } from '../../src/jdwp-client/commands.ts'
import { JdwpTarget } from '../../src/jdwp-client/index.ts'
import { Chance } from '../faults/trials.ts'
import { asksOf, ELSEWHERE } from './asks.ts'
import { converse, readRecording, replayed } from './recording.ts'

const all = Object.entries(COMMANDS).flatMap(([set, { commands }]) =>
  Object.keys(commands).map((command) => `${set}.${command}`),
)

describe('a recorded JVM', () => {
  it('every command gets an answer from a recorded JVM', () => {
    const asked = asksOf({} as JdwpTarget, {} as never).map(([name]) => name as string)
    expect([...asked, ...ELSEWHERE].sort()).toEqual([...all].sort())
    expect(new Set(asked).size).toBe(asked.length)
  })

  it.each([1, 2, 3])(
    'the answers of a recorded JVM are decoded equally for any split of the bytes (seed %i)',
    async (seed) => {
      const recording = readRecording()
      const chance = new Chance(seed)
      // Also in pieces of one byte: the packet is assembled from all its pieces.
      const stream = replayed(recording.pieces, () => 1 + Math.floor(chance.next() ** 4 * 5000))
      const jvm = await JdwpTarget.over(stream)
      expect(await converse(jvm, { say: async () => '' })).toEqual({
        ...{ outcomes: recording.outcomes, things: recording.things },
      })
    },
  )
})
