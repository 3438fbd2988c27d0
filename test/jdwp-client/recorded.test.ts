// Sends every command once to a replayed recording of a JVM.

import { describe, expect, it } from 'vitest'
import { COMMANDS } from '../../src/jdwp-client/commands.ts'
import { JdwpTarget } from '../../src/jdwp-client/index.ts'
import { Chance } from '../faults/trials.ts'
import { asksOf, ELSEWHERE } from './asks.ts'
import { converse, readRecording, replayed } from './recording.ts'

const all = Object.entries(COMMANDS).flatMap(([set, { commands }]) =>
  Object.keys(commands).map((command) => `${set}.${command}`),
)

describe('the JDWP client with recorded replies of a JVM', () => {
  it('every command gets a reply from the recording', () => {
    const asked = asksOf({} as JdwpTarget, {} as never).map(([name]) => name as string)
    expect([...asked, ...ELSEWHERE].sort()).toEqual([...all].sort())
    expect(new Set(asked).size).toBe(asked.length)
  })

  it.each([1, 2, 3])(
    'the replies of a recorded JVM are decoded to the same values wherever the stream is split (seed %i)',
    async (seed) => {
      const recording = readRecording()
      const chance = new Chance(seed)
      // Pieces may have only one byte: each packet is assembled from all its pieces.
      const stream = replayed(recording.pieces, () => 1 + Math.floor(chance.next() ** 4 * 5000))
      const jvm = await JdwpTarget.over(stream)
      expect(await converse(jvm, { say: async () => '' })).toEqual({
        ...{ outcomes: recording.outcomes, things: recording.things },
      })
    },
  )
})
