import { describe, expect, it } from 'vitest'
import { parseClassFile } from '../../src/classfile/class-file.ts'
import { parseCode } from '../../src/classfile/code.ts'
import { blocksOf, defaultBlocks, preciseBlocks } from '../../src/instrument/blocks.ts'
import { assemble } from './assembler.ts'

describe('basic blocks', () => {
  const sizes = (code: string, analysis = defaultBlocks): number[] => {
    const classFile = parseClassFile(assemble({ method: 'run(I)I', code }).bytes)
    const { sizes: found } = blocksOf(parseCode(classFile, classFile.methods[0]!), classFile.pool, analysis)
    return [...found].filter((size) => size > 0)
  }

  it('basic blocks end at branches and begin at the targets of branches', () => {
    expect(sizes('iload_0 | ifeq a | iconst_1 | ireturn | a: iconst_2 | ireturn')).toEqual([2, 2, 2])
  })

  it('basic blocks end at calls and divisions only if the precise analysis is used', () => {
    const code = 'iload_0 | invokestatic T.run(I)I | iconst_3 | idiv | ireturn'
    expect(sizes(code)).toEqual([5])
    expect(sizes(code, preciseBlocks)).toEqual([2, 2, 1])
  })

  it('basic blocks end at branches, and also at the instructions that the given analysis selects', () => {
    const code = 'iload_0 | ifeq a | nop | nop | iconst_1 | ireturn | a: iconst_2 | ireturn'
    expect(sizes(code, () => true)).toEqual([1, 1, 1, 1, 1, 1, 1, 1])
    expect(sizes(code, ({ bci }) => bci === 4)).toEqual([2, 1, 3, 2])
  })
})
