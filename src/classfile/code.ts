// Reads the Code attribute of a method (JVMS 4.7.3) and its instructions.

import { type AttributeRef, type ClassFile, type MethodInfo, readAttributes } from './class-file.ts'
import * as op from './opcodes.ts'
import { ClassFormatProblem } from './problem.ts'
import { Reader, s2At, s4At, u2At } from './reader.ts'

/** A row of the exception table: `handlerBci` catches exceptions thrown in [startBci, endBci). */
export interface Handler {
  readonly startBci: number
  readonly endBci: number
  readonly handlerBci: number
  /** Pool index of a Class; 0 catches everything. */
  readonly catchType: number
}

export interface Code {
  readonly maxStack: number
  readonly maxLocals: number
  /** A view of the class file's bytes. Must not be modified. */
  readonly bytecode: Uint8Array
  readonly handlers: readonly Handler[]
  readonly attributes: readonly AttributeRef[]
}

/** Reads the Code attribute. @throws ClassFormatProblem if the method has no Code attribute or the attribute is inconsistent */
export function parseCode(classFile: ClassFile, method: MethodInfo): Code {
  const attribute = method.code
  if (attribute === undefined) {
    throw new ClassFormatProblem(`${method.name}${method.descriptor} has no Code attribute`)
  }
  const { bytes, pool } = classFile
  const reader = new Reader(bytes, attribute.offset, attribute.offset + attribute.length)
  const maxStack = reader.u2()
  const maxLocals = reader.u2()
  const length = reader.u4()
  if (length === 0 || length > 65535) throw new ClassFormatProblem(`${length} bytes of code`)
  const start = reader.skip(length)
  const handlers: Handler[] = []
  for (let left = reader.u2(); left > 0; left--) {
    const startBci = reader.u2()
    const endBci = reader.u2()
    const handlerBci = reader.u2()
    const catchType = reader.u2()
    if (startBci >= endBci || endBci > length || handlerBci >= length) {
      throw new ClassFormatProblem(`exception range [${startBci}, ${endBci}) -> ${handlerBci} of ${length}`)
    }
    handlers.push({ startBci, endBci, handlerBci, catchType })
  }
  const attributes = readAttributes(reader, pool)
  reader.finish('a Code attribute')
  return { maxStack, maxLocals, bytecode: bytes.subarray(start, start + length), handlers, attributes }
}

/**
 * Returns an array with the line number of each bci; -1 if the line is unknown.
 *
 * @returns undefined if the class was compiled without line numbers
 */
export function linesOf({ bytes }: ClassFile, code: Code): Int32Array | undefined {
  const rows: { start: number; line: number }[] = []
  for (const { name, offset, length } of code.attributes) {
    if (name !== 'LineNumberTable') continue
    const content = new Reader(bytes, offset, offset + length)
    for (let left = content.u2(); left > 0; left--) rows.push({ start: content.u2(), line: content.u2() })
  }
  if (rows.length === 0) return undefined
  // A row is valid up to the bci of the next row. Of two rows with the same bci, the later row in the table is valid.
  const lines = new Int32Array(code.bytecode.length).fill(-1)
  rows.sort((a, b) => a.start - b.start)
  rows.forEach(({ start, line }, i) => {
    lines.fill(line, start, rows[i + 1]?.start ?? lines.length)
  })
  return lines
}

/**
 * Calls `visit` for every instruction, in order of bci. A `wide` prefix and the instruction after it are visited as one
 * instruction. Allocates nothing, and terminates for any bytes.
 *
 * @throws ClassFormatProblem at an unknown opcode or an instruction that runs past the end
 */
export function forEachInstruction(bytecode: Uint8Array, visit: (bci: number, opcode: number) => void): void {
  for (let bci = 0; bci < bytecode.length; ) {
    const next = bci + instructionLength(bytecode, bci)
    visit(bci, bytecode[bci])
    bci = next
  }
}

/**
 * Returns the length of the instruction at `bci` in bytes, including opcode, padding and operands.
 *
 * @throws ClassFormatProblem at an unknown opcode or an instruction that runs past the end
 */
export function instructionLength(bytecode: Uint8Array, bci: number): number {
  const opcode = bytecode[bci]
  let length = op.LENGTHS[opcode]
  if (length === undefined) throw new ClassFormatProblem(`unknown opcode ${opcode} at bci ${bci}`)
  if (length === 0) length = variableLength(bytecode, bci, opcode)
  if (bci + length > bytecode.length) pastTheEnd(bci)
  return length
}

function variableLength(bytecode: Uint8Array, bci: number, opcode: number): number {
  if (opcode === op.WIDE) {
    if (bci + 1 >= bytecode.length) pastTheEnd(bci)
    const widened = bytecode[bci + 1]
    if (!canBeWide(widened)) {
      throw new ClassFormatProblem(`wide opcode ${widened} at bci ${bci}`)
    }
    return widened === op.IINC ? 6 : 4
  }
  const operands = switchOperands(bci)
  if (operands + 12 > bytecode.length) {
    if (opcode === op.TABLESWITCH || operands + 8 > bytecode.length) pastTheEnd(bci)
  }
  if (opcode === op.LOOKUPSWITCH) {
    const pairs = s4At(bytecode, operands + 4)
    if (pairs < 0 || pairs > 8192)
      throw new ClassFormatProblem(`lookupswitch of ${pairs} pairs at bci ${bci}`)
    return operands + 8 + 8 * pairs - bci
  }
  const low = s4At(bytecode, operands + 4)
  const high = s4At(bytecode, operands + 8)
  const targets = high - low + 1
  if (targets < 1 || targets > 16384)
    throw new ClassFormatProblem(`tableswitch ${low}..${high} at bci ${bci}`)
  return operands + 12 + 4 * targets - bci
}

/** Returns whether `wide` may precede the opcode: xload, xstore, ret or iinc. With `wide`, the index of the local variable has 16 bits. */
function canBeWide(opcode: number): boolean {
  return (
    (opcode >= op.ILOAD && opcode <= op.ALOAD) ||
    (opcode >= op.ISTORE && opcode <= op.ASTORE) ||
    opcode === op.RET ||
    opcode === op.IINC
  )
}

/** Returns the bci of the operands of a switch at `bci`: the next multiple of 4 after the opcode. */
export function switchOperands(bci: number): number {
  return (bci & ~3) + 4
}

/** An instruction's use of a local variable. */
export interface Access {
  /** Opcode of the long form: iload, … astore, ret, iinc. */
  readonly opcode: number
  readonly local: number
  /** Increment of iinc; otherwise 0. */
  readonly increment: number
}

/** Returns how the instruction accesses a local variable; undefined if it accesses none. */
export function accessAt(bytecode: Uint8Array, bci: number): Access | undefined {
  const opcode = bytecode[bci]
  if (opcode === op.WIDE) {
    const local = u2At(bytecode, bci + 2)
    const increment = bytecode[bci + 1] === op.IINC ? (u2At(bytecode, bci + 4) << 16) >> 16 : 0
    return { opcode: bytecode[bci + 1], local, increment }
  }
  if (opcode >= op.ILOAD_0 && opcode <= op.ALOAD_3) return short(op.ILOAD, opcode - op.ILOAD_0)
  if (opcode >= op.ISTORE_0 && opcode <= op.ASTORE_3) return short(op.ISTORE, opcode - op.ISTORE_0)
  if (opcode === op.IINC)
    return { opcode, local: bytecode[bci + 1], increment: (bytecode[bci + 2] << 24) >> 24 }
  const isLong =
    opcode === op.RET ||
    (opcode >= op.ILOAD && opcode < op.ILOAD_0) ||
    (opcode >= op.ISTORE && opcode < op.ISTORE_0)
  return isLong ? { opcode, local: bytecode[bci + 1], increment: 0 } : undefined
}

/** Decodes xload_n or xstore_n. Each type has four such opcodes, from `first` on. */
function short(first: number, at: number): Access {
  return { opcode: first + (at >> 2), local: at & 3, increment: 0 }
}

/** Returns the target bcis of a branch, jsr or switch; an empty list for other instructions. */
export function branchTargets(bytecode: Uint8Array, bci: number): number[] {
  const opcode = bytecode[bci]
  if (opcode === op.GOTO_W || opcode === op.JSR_W) return [bci + s4At(bytecode, bci + 1)]
  if (op.isShortBranch(opcode)) return [bci + s2At(bytecode, bci + 1)]
  if (opcode !== op.TABLESWITCH && opcode !== op.LOOKUPSWITCH) return []
  const operands = switchOperands(bci)
  const end = bci + instructionLength(bytecode, bci)
  const targets = [bci + s4At(bytecode, operands)]
  // tableswitch: default, low, high, offsets; lookupswitch: default, count, (match, offset) pairs
  const step = opcode === op.TABLESWITCH ? 4 : 8
  for (let at = operands + 12; at < end; at += step) targets.push(bci + s4At(bytecode, at))
  return targets
}

function pastTheEnd(bci: number): never {
  throw new ClassFormatProblem(`the instruction at bci ${bci} runs past the end of the code`)
}
