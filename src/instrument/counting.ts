// Code that counts the bytecodes executed by a method (JP, section 4). Every basic block adds its size to a local
// variable, and the exit probe reports the variable.
//
//     iconst_0; istore n                   with the entry probe
//     …
//   block:                                 a branch to the block runs this code
//     iload n; countLoop; istore n         at the start of a loop: reports the count before it overflows an int
//     iinc n, size
//     …
//     iload n; countCall; istore n         before super() or this(), since no handler can catch their exceptions
//     …
//     iload n; push id; countExit          before each return, and in the added handler
//
// A method that consists of one block passes the block's size as a constant and needs no variable.

import type { ClassFile, MethodInfo } from '../classfile/class-file.ts'
import { type Code, instructionLength } from '../classfile/code.ts'
import { ICONST_0, IINC, ILOAD, INVOKESPECIAL, ISTORE } from '../classfile/opcodes.ts'
import { u2At } from '../classfile/reader.ts'
import { INTEGER } from '../classfile/stack-map.ts'
import { type BlockAnalysis, blocksOf, defaultBlocks, preciseBlocks } from './blocks.ts'
import { accessCode, newLocalOf } from './new-local.ts'
import { call, pushId } from './probe.ts'
import type { Addition } from './relocation.ts'
import type { RuntimeBlock } from './runtime.ts'

/** Maximum length of the code that pushes the count, of the code that adds a block, and of the code that reports in a loop, bytes. */
export const MAX_COUNT_BYTES = 4
export const MAX_ADDITION_BYTES = 6
export const MAX_HAND_OVER_BYTES = 11
const MAX_INCREMENT = 32767

/** Code that is added to a method to count its bytecodes. */
export interface Counting extends Addition {
  /** Instructions before the entry probe. */
  readonly begin: readonly number[]
  /** Code that pushes the count. */
  readonly push: readonly number[]
}

/** Value for a method that does not count. */
export const NO_COUNT: Counting = {
  begin: [],
  push: [ICONST_0],
  inserted: undefined,
  local: -1,
  localTypes: [INTEGER],
}

export function countingOf(
  classFile: ClassFile,
  method: MethodInfo,
  code: Code,
  analysis: BlockAnalysis,
  { countLoop, countCall }: RuntimeBlock,
): Counting {
  const { bytecode } = code
  const blocks = blocksOf(code, classFile.pool, analysis)
  const first = blocks.sizes[0]
  const initialisers = initialiserCalls(classFile, method, bytecode)
  const inserted: (readonly number[] | undefined)[] = []
  if (blocks.count === 1 && !blocks.entersAgain && initialisers.length === 0)
    return { ...NO_COUNT, push: pushId(first) }
  const local = newLocalOf(method, code)
  const handOver = (method: number) => [
    ...accessCode(ILOAD, local),
    ...call(method),
    ...accessCode(ISTORE, local),
  ]
  for (let bci = 0; bci < bytecode.length; bci++) {
    const size = blocks.sizes[bci]
    if (size === 0 || (bci === 0 && !blocks.entersAgain)) continue
    inserted[bci] = [...(blocks.loops[bci] === 1 ? handOver(countLoop) : []), ...add(local, size)]
  }
  for (const bci of initialisers) inserted[bci] = [...(inserted[bci] ?? []), ...handOver(countCall)]
  const start = blocks.entersAgain ? 0 : first
  const begin = [...pushId(start), ...accessCode(ISTORE, local)]
  return { begin, inserted, push: accessCode(ILOAD, local), local, localTypes: [INTEGER] }
}

/** Returns the bcis of calls of super() or this(), whose exceptions no handler catches. May include calls of other constructors. */
function initialiserCalls(classFile: ClassFile, method: MethodInfo, bytecode: Uint8Array): number[] {
  if (method.name !== '<init>') return []
  const found: number[] = []
  for (let bci = 0; bci < bytecode.length; bci += instructionLength(bytecode, bci)) {
    if (bytecode[bci] !== INVOKESPECIAL) continue
    const { owner, name } = classFile.pool.memberRef(u2At(bytecode, bci + 1))
    if (name !== '<init>' || owner === 'java/lang/Object') continue
    if (owner === classFile.name || owner === classFile.superName) found.push(bci)
  }
  return found
}

function add(local: number, size: number): number[] {
  if (size > MAX_INCREMENT) return [...add(local, MAX_INCREMENT), ...add(local, size - MAX_INCREMENT)]
  return accessCode(IINC, local, size)
}

/** Names of the built-in analyses of basic blocks. */
export type BlockCounting = 'default' | 'precise'

export const ANALYSES: Readonly<Record<BlockCounting, BlockAnalysis>> = {
  default: defaultBlocks,
  precise: preciseBlocks,
}
