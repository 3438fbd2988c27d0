// Basic blocks, for counting bytecodes: each block adds the number of its instructions when it begins (JP,
// section 4).
//
// Which instructions end a block is the analysis. `default`: those that may send control elsewhere, so a block is
// counted as a whole, also where something in it throws. `precise`: those that may throw as well. A user's own
// analysis answers for each instruction; where control may go elsewhere a block ends whatever it says.

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

/** An instruction as an analysis is asked of it. */
export interface Instruction {
  readonly opcode: number
  readonly bci: number
  readonly bytecode: Uint8Array
  readonly pool: ConstantPool
}

/** Whether a block ends with this instruction, even if control goes on to the next. */
export type BlockAnalysis = (instruction: Instruction) => boolean

/** Only where control may go elsewhere than to the next instruction. A call comes back. */
export const defaultBlocks: BlockAnalysis = () => false

/** Also where something may be thrown. */
export const preciseBlocks: BlockAnalysis = mayThrow

function changesFlow(opcode: number): boolean {
  return (op.isShortBranch(opcode) || op.endsFlow(opcode)) && !isSubroutineCall(opcode)
}

/** JVMS 6.5, "Run-time Exceptions" and "Linking Exceptions"; out of memory for a string constant is left aside. */
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
  /** By bci: instructions of the block that begins there, 0 where none does. */
  readonly sizes: Int32Array
  /** By bci: a loop may begin there. */
  readonly loops: Uint8Array
  /** Whether the first instruction can be come back to. */
  readonly entersAgain: boolean
  /** How many there are. */
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
    if (handlerBci < endBci) loops[handlerBci] = 1 // it may guard itself, or what comes after it
    if (handlerBci === 0) entersAgain = true
  }
  for (let bci = 0; bci < bytecode.length; ) {
    const next = bci + instructionLength(bytecode, bci)
    const opcode = bytecode[bci]
    const branches = op.isShortBranch(opcode) || op.endsFlow(opcode) || isSubroutineCall(opcode)
    if (branches) {
      for (const target of successors(bytecode, bci)) {
        if (target < 0 || target >= bytecode.length) continue // malformed, and refused when branches are moved
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
