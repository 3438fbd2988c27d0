// C2 inlines a hot method only below FreqInlineSize, 325 bytes of bytecode. The probes must stay there.

import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { parseClassFile } from '../../src/classfile/class-file.ts'
import { parseCode } from '../../src/classfile/code.ts'
import { jarEntries } from '../support/jar.ts'

const FREQ_INLINE_SIZE = 325

describe('the probes of the built agent', () => {
  const jar = fileURLToPath(new URL('../../dist/agent/jfluid-agent.jar', import.meta.url))
  const [entry] = jarEntries(jar, /^runtime\/java\/lang\/JFluid1\.class$/)
  const runtime = parseClassFile(entry!.bytes)

  it.each([
    ...[
      'methodEntry(I)V',
      'methodExit(I)V',
      'methodCounted(I)V',
      'methodResume(I)V',
      'rootEntry(I)V',
      'rootExit(I)V',
    ],
    ...['regionEnter(JI)J', 'regionLeave(JI)J', 'regionExit(JI)V'],
  ])('%s can be inlined', (selector) => {
    const method = runtime.methods.find((m) => m.name + m.descriptor === selector)!
    expect(parseCode(runtime, method).bytecode.length).toBeLessThan(FREQ_INLINE_SIZE)
  })
})
