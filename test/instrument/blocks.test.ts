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

  it('end at branches, and begin where these lead', () => {
    expect(sizes('iload_0 | ifeq a | iconst_1 | ireturn | a: iconst_2 | ireturn')).toEqual([2, 2, 2])
  })

  it('do not end at calls and divisions, unless the analysis is precise', () => {
    const code = 'iload_0 | invokestatic T.run(I)I | iconst_3 | idiv | ireturn'
    expect(sizes(code)).toEqual([5])
    expect(sizes(code, preciseBlocks)).toEqual([2, 2, 1])
  })

  it('end at branches whatever an analysis says, and where it says so', () => {
    const code = 'iload_0 | ifeq a | nop | nop | iconst_1 | ireturn | a: iconst_2 | ireturn'
    expect(sizes(code, () => true)).toEqual([1, 1, 1, 1, 1, 1, 1, 1])
    expect(sizes(code, ({ bci }) => bci === 4)).toEqual([2, 1, 3, 2])
  })
})
