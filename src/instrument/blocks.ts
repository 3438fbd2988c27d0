// Basic blocks, for counting bytecodes: at the start of each block, its number of instructions is added to the count (JP,
// section 4).
//
// The analysis decides which instructions end a block. `default`: instructions that may transfer control. If an instruction in the
// middle of a block throws, the whole block is counted nevertheless. `precise`: also instructions that may throw. An analysis provided
// by the user is called for each instruction; a block always ends where control may be transferred.

import { type Code, instructionLength } from '../classfile/code.ts'
import {
  CONSTANT_FLOAT,
  CONSTANT_INTEGER,
  CONSTANT_STRING,
  type ConstantPool,
} from '../classfile/constant-pool.ts'
import * as op from '../classfile/opcodes.ts'
import { u2At } from '../classfile/reader.ts'
import { isSubroutineCall, successors } from './flow.ts'

/** An instruction, as passed to an analysis. */
export interface Instruction {
  readonly opcode: number
  readonly bci: number
  readonly bytecode: Uint8Array
  readonly pool: ConstantPool
}

/** Returns whether a block ends with this instruction, even if control continues at the next instruction. */
export type BlockAnalysis = (instruction: Instruction) => boolean

/** Ends blocks only where control may be transferred. A call does not end a block, since it returns to the next instruction. */
export const defaultBlocks: BlockAnalysis = () => false

/** Ends blocks also where an exception may be thrown. */
export const preciseBlocks: BlockAnalysis = mayThrow

function changesFlow(opcode: number): boolean {
  return (op.isShortBranch(opcode) || op.endsFlow(opcode)) && !isSubroutineCall(opcode)
}

/** Returns whether an instruction may throw (JVMS 6.5, Run-time and Linking Exceptions). Ignores OutOfMemoryError for a string constant. */
export function mayThrow({ opcode, bci, bytecode, pool }: Instruction): boolean {
  if (opcode === op.LDC || opcode === op.LDC_W) {
    const tag = pool.tag(opcode === op.LDC ? bytecode[bci + 1] : u2At(bytecode, bci + 1))
    return tag !== CONSTANT_INTEGER && tag !== CONSTANT_FLOAT && tag !== CONSTANT_STRING
  }
  return (
    (opcode > op.ALOAD_3 && opcode < op.ISTORE) || // array loads
    (opcode >= op.IASTORE && opcode < op.POP) ||
    opcode === op.IDIV ||
    opcode === op.LDIV ||
    opcode === op.IREM ||
    opcode === op.LREM ||
    (opcode >= op.GETSTATIC && opcode <= op.MONITOREXIT) ||
    opcode === op.MULTIANEWARRAY
  )
}

export interface Blocks {
  /** Per bci: number of instructions of the block that begins at the bci; 0 if no block begins there. */
  readonly sizes: Int32Array
  /** Per bci: 1 if a loop may begin at the bci. */
  readonly loops: Uint8Array
  /** Whether control may return to the first instruction. */
  readonly entersAgain: boolean
  /** Number of blocks. */
  readonly count: number
}

export function blocksOf(code: Code, pool: ConstantPool, endsBlock: BlockAnalysis): Blocks {
  const { bytecode, handlers } = code
  const leaders = new Uint8Array(bytecode.length)
  const loops = new Uint8Array(bytecode.length)
  leaders[0] = 1
  let entersAgain = false
  for (const { handlerBci, endBci } of handlers) {
    leaders[handlerBci] = 1
    if (handlerBci < endBci) loops[handlerBci] = 1 // a handler may guard its own code, or code after it, and so begin a loop
    if (handlerBci === 0) entersAgain = true
  }
  for (let bci = 0; bci < bytecode.length; ) {
    const next = bci + instructionLength(bytecode, bci)
    const opcode = bytecode[bci]
    const branches = op.isShortBranch(opcode) || op.endsFlow(opcode) || isSubroutineCall(opcode)
    if (branches) {
      for (const target of successors(bytecode, bci)) {
        if (target < 0 || target >= bytecode.length) continue // malformed code: it is refused when branches are relocated
        if (target !== next) leaders[target] = 1
        if (target <= bci) loops[target] = 1
        if (target === 0) entersAgain = true
      }
    }
    const ends = changesFlow(opcode) || endsBlock({ opcode, bci, bytecode, pool })
    if (ends && next < bytecode.length) leaders[next] = 1
    bci = next
  }
  const sizes = new Int32Array(bytecode.length)
  let count = 0
  let leader = 0
  for (let bci = 0; bci < bytecode.length; bci += instructionLength(bytecode, bci)) {
    if (leaders[bci] === 1) {
      leader = bci
      count++
    }
    sizes[leader]++
  }
  return { sizes, loops, entersAgain, count }
}
