// C2 inlines a hot method only below FreqInlineSize, 325 bytes of bytecode. The probes must stay there.
// If the entry probe of a method fits on the stack, its exit probe must fit, too.

import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { parseClassFile } from '../../src/classfile/class-file.ts'
import { instructionLength, parseCode } from '../../src/classfile/code.ts'
import { INVOKESTATIC, INVOKEVIRTUAL } from '../../src/classfile/opcodes.ts'
import { jarEntries } from '../support/jar.ts'

const FREQ_INLINE_SIZE = 325

describe('the probes of the built agent', () => {
  const jar = fileURLToPath(new URL('../../dist/agent/jfluid-agent.jar', import.meta.url))
  const classOf = (name: RegExp) => parseClassFile(jarEntries(jar, name)[0]!.bytes)
  const runtime = classOf(/^runtime\/java\/lang\/JFluid1\.class$/)

  const codeOf = (selector: string, owner = runtime) =>
    parseCode(owner, owner.methods.find((m) => m.name + m.descriptor === selector)!)

  it.each([
    ...[
      'methodEntry(I)V',
      'methodExit(I)V',
      'methodExit(II)I',
      'methodExit(JI)J',
      'methodExit(FI)F',
      'methodExit(DI)D',
      'methodExit(Ljava/lang/Object;I)Ljava/lang/Object;',
      'methodResume(I)V',
      'rootEntry(I)V',
      'rootExit(I)V',
    ],
    ...['regionEnter(JI)J', 'regionLeave(JI)J', 'regionExit(JI)V'],
  ])('the probe %s is small enough for HotSpot to inline', (selector) => {
    expect(codeOf(selector).bytecode.length).toBeLessThan(FREQ_INLINE_SIZE)
  })

  const THROWN = 'Ljava/lang/Throwable;'
  const OBJECT = 'Ljava/lang/Object;'
  const TIMED_END = 'timedEnd(Ljava/lang/JFluid1Threads$ThreadInfo;I)V'
  const SWITCHED_EXITS = ['(I)V', '(II)I', '(JI)J', '(FI)F', '(DI)D', `(${OBJECT}I)${OBJECT}`].map(
    (it) => `switchedExit${it} switchedEnd(I)V`,
  )
  const exits = {
    'methodEntry(I)V': [
      'methodExit(I)V',
      'methodExit(II)I',
      'methodExit(JI)J',
      'methodExit(FI)F',
      'methodExit(DI)D',
      `methodExit(${OBJECT}I)${OBJECT}`,
      `methodThrown(${THROWN}I)${THROWN}`,
    ],
    'countEntry(I)V': [
      'countExit(II)V',
      'countExit(III)I',
      'countExit(JII)J',
      'countExit(FII)F',
      'countExit(DII)D',
      `countExit(${OBJECT}II)${OBJECT}`,
      `countThrown(${THROWN}II)${THROWN}`,
    ],
    // With and without timing.
    'switchedEntry(I)V switchedBegin(I)V': SWITCHED_EXITS,
    'switchedEntry(I)V switchedBegin(I)V methodEntry(I)V': SWITCHED_EXITS.map((it) => `${it} ${TIMED_END}`),
    // Probes of roots call probes of methods.
    'rootEntry(I)V methodEntry(I)V': [
      'rootExit(I)V methodExit(I)V',
      `rootThrown(${THROWN}I)${THROWN} methodThrown(${THROWN}I)${THROWN}`,
    ],
    'countRootEntry(I)V countEntry(I)V': [
      'countRootExit(II)V countExit(II)V',
      `countRootThrown(${THROWN}II)${THROWN} countThrown(${THROWN}II)${THROWN}`,
    ],
  }
  const pairs = Object.entries(exits).flatMap(([entry, all]) => all.map((exit) => [exit, entry] as const))
  it.each(pairs)('the probe %s uses no more local variables than the probe %s', (exit, entry) => {
    const locals = (selectors: string) =>
      selectors.split(' ').reduce((sum, it) => sum + codeOf(it).maxLocals, 0)
    expect(locals(exit)).toBeLessThanOrEqual(locals(entry))
  })

  it('the probe that leaves a tree record needs no more stack than the probe that enters the record', () => {
    const trees = classOf(/^runtime\/java\/lang\/JFluid1Trees\.class$/)
    const info = 'Ljava/lang/JFluid1Threads$ThreadInfo;'
    const [enter, leave] = [codeOf(`enter(${info}JI)V`, trees), codeOf(`leave(${info}JII)V`, trees)]
    expect(leave.maxLocals).toBeLessThanOrEqual(enter.maxLocals)
    const opcodes = ({ bytecode }: typeof leave): number[] => {
      const found: number[] = []
      for (let bci = 0; bci < bytecode.length; bci += instructionLength(bytecode, bci)) {
        found.push(bytecode[bci]!)
      }
      return found
    }
    expect(opcodes(enter)).toContain(INVOKEVIRTUAL) // a call of Unsafe, which needs one frame
    expect(opcodes(leave)).not.toContain(INVOKESTATIC)
  })
})
