// Sends every command once to a JVM.

import { describe, expect, it } from 'vitest'
import { JdwpTarget } from '../../src/jdwp-client/index.ts'
import { newest, newestOrAll } from '../support/jdks.ts'
import { startDebuggee } from './debuggee.ts'
import { converse, type Piece, recordedConnection, writeRecording } from './recording.ts'

describe.each(newestOrAll.map((jdk) => [jdk.version, jdk] as const))('a real JVM of JDK %i', (_, jdk) => {
  it('a real JVM replies to every command', async () => {
    const program = await startDebuggee(jdk)
    await program.java.line(/^ready/)
    const pieces: Piece[] = []
    const jvm = await JdwpTarget.over(recordedConnection(await program.port(), pieces))
    const conversation = await converse(jvm, program)
    const refused = Object.entries(conversation.outcomes).filter(([, outcome]) => /^[A-Z_]{4,}/.test(outcome))
    expect(Object.fromEntries(refused)).toEqual({
      'ReferenceType.SourceDebugExtension': 'ABSENT_INFORMATION',
      'StackFrame.PopFrames': 'INVALID_FRAMEID', // the earlier invocations have let the thread run, so the frame id is no longer valid
      ...(jdk.version < 19 ? { 'ThreadReference.IsVirtual': 'NOT_IMPLEMENTED' } : {}),
    })
    if (process.env.JFLUID_WRITE_GOLDEN === '1' && jdk === newest) writeRecording({ pieces, ...conversation })
  })
})
