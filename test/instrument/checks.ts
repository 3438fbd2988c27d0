// Places where a method in mode sample checks the thread's bytecode counter.

import type { ClassFile } from '../../src/classfile/class-file.ts'
import { parseCode } from '../../src/classfile/code.ts'
import { blocksOf, defaultBlocks } from '../../src/instrument/blocks.ts'
import { withChecks } from '../../src/instrument/sampling.ts'

export function checksOf(classFile: ClassFile, index = 0) {
  const code = parseCode(classFile, classFile.methods[index]!)
  return { code, ...withChecks(code, blocksOf(code, classFile.pool, defaultBlocks)) }
}
