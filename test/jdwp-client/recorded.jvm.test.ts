// Every command once, to a JVM and to what has been written down of one.

import { describe, expect, it } from 'vitest'
import { COMMANDS } from '../../src/jdwp-client/commands.ts'
import { JdwpTarget } from '../../src/jdwp-client/index.ts'
import { Chance } from '../faults/trials.ts'
import { newest, newestOrAll } from '../support/jdks.ts'
import { asksOf, ELSEWHERE } from './asks.ts'
import { startDebuggee } from './debuggee.ts'
import {
  converse,
  type Piece,
  readRecording,
  recordedConnection,
  replayed,
  writeRecording,
} from './recording.ts'

const all = Object.entries(COMMANDS).flatMap(([set, { commands }]) =>
  Object.keys(commands).map((command) => `${set}.${command}`),
)

describe('a recorded JVM', () => {
  it('is asked everything', () => {
    const asked = asksOf({} as JdwpTarget, {} as never).map(([name]) => name as string)
    expect([...asked, ...ELSEWHERE].sort()).toEqual([...all].sort())
    expect(new Set(asked).size).toBe(asked.length)
  })

  it.each([1, 2, 3])('is heard and understood as then, its bytes cut otherwise (seed %i)', async (seed) => {
    const recording = readRecording()
    const chance = new Chance(seed)
    // Of one byte, too: the packet is put together from as many pieces as it has.
    const stream = replayed(recording.pieces, () => 1 + Math.floor(chance.next() ** 4 * 5000))
    const jvm = await JdwpTarget.over(stream)
    expect(await converse(jvm, { say: async () => '' })).toEqual({
      ...{ outcomes: recording.outcomes, things: recording.things },
    })
  })
})

describe.each(newestOrAll.map((jdk) => [jdk.version, jdk] as const))('a real JVM %i', (_, jdk) => {
  it('answers every command', async () => {
    const program = await startDebuggee(jdk)
    await program.java.line(/^ready/)
    const pieces: Piece[] = []
    const jvm = await JdwpTarget.over(recordedConnection(await program.port(), pieces))
    const conversation = await converse(jvm, program)
    const refused = Object.entries(conversation.outcomes).filter(([, outcome]) => /^[A-Z_]{4,}/.test(outcome))
    expect(Object.fromEntries(refused)).toEqual({
      'ReferenceType.SourceDebugExtension': 'ABSENT_INFORMATION',
      'StackFrame.PopFrames': 'INVALID_FRAMEID', // the thread has run since, for the invocations
      ...(jdk.version < 19 ? { 'ThreadReference.IsVirtual': 'NOT_IMPLEMENTED' } : {}),
    })
    if (process.env.JFLUID_WRITE_GOLDEN === '1' && jdk === newest) writeRecording({ pieces, ...conversation })
  })
})
