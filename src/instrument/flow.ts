// What one instruction does to control and to the depth of the stack.

import type { ClassFile } from '../classfile/class-file.ts'
import { type Code, type Handler, instructionLength, switchOperands } from '../classfile/code.ts'
import type { ConstantPool } from '../classfile/constant-pool.ts'
import { argumentSlots, returnSlots, typeSlots } from '../classfile/descriptor.ts'
import {
  DUP,
  DUP2,
  endsFlow,
  GETFIELD,
  GETSTATIC,
  GOTO,
  GOTO_W,
  INVOKEDYNAMIC,
  INVOKEINTERFACE,
  INVOKESTATIC,
  INVOKEVIRTUAL,
  isShortBranch,
  JSR,
  JSR_W,
  LOOKUPSWITCH,
  MULTIANEWARRAY,
  POPS,
  PUSHES,
  PUTFIELD,
  PUTSTATIC,
  RET,
  SWAP,
  TABLESWITCH,
  WIDE,
} from '../classfile/opcodes.ts'
import { s2At, s4At, u2At } from '../classfile/reader.ts'
import { NotInstrumentable } from './problem.ts'

export interface StackEffect {
  /** Slots it takes. */
  readonly pops: number
  /** Slots it then gives. */
  readonly pushes: number
}

/** What an instruction does to the stack. dup… and swap count with what they add. */
export function stackEffect(pool: ConstantPool, bytecode: Uint8Array, bci: number): StackEffect {
  const opcode = bytecode[bci] === WIDE ? bytecode[bci + 1] : bytecode[bci]
  if (opcode >= DUP && opcode < SWAP) return { pops: 0, pushes: opcode >= DUP2 ? 2 : 1 }
  if (opcode === INVOKEDYNAMIC) {
    const { descriptor } = pool.invokeDynamic(u2At(bytecode, bci + 1))
    return { pops: argumentSlots(descriptor), pushes: returnSlots(descriptor) }
  }
  if (opcode >= INVOKEVIRTUAL && opcode <= INVOKEINTERFACE) {
    const { descriptor } = pool.memberRef(u2At(bytecode, bci + 1))
    const receiver = opcode === INVOKESTATIC ? 0 : 1
    return { pops: argumentSlots(descriptor) + receiver, pushes: returnSlots(descriptor) }
  }
  if (opcode >= GETSTATIC && opcode <= PUTFIELD) {
    const slots = typeSlots(pool.memberRef(u2At(bytecode, bci + 1)).descriptor)
    const receiver = opcode >= GETFIELD ? 1 : 0
    const puts = opcode === PUTSTATIC || opcode === PUTFIELD
    return puts ? { pops: receiver + slots, pushes: 0 } : { pops: receiver, pushes: slots }
  }
  if (opcode === MULTIANEWARRAY) return { pops: bytecode[bci + 3], pushes: 1 }
  return { pops: POPS[opcode], pushes: PUSHES[opcode] }
}

/** jsr, jsr_w: `ret` brings control back to the next instruction, maybe. */
export function isSubroutineCall(opcode: number): boolean {
  return opcode === JSR || opcode === JSR_W
}

/** Where control may go from an instruction, exceptions and the way back from a subroutine aside. */
export function successors(bytecode: Uint8Array, bci: number): number[] {
  const opcode = bytecode[bci]
  const length = instructionLength(bytecode, bci)
  if (opcode === WIDE && bytecode[bci + 1] === RET) return []
  if (opcode === GOTO_W || opcode === JSR_W) return [bci + s4At(bytecode, bci + 1)]
  if (isShortBranch(opcode)) {
    const target = bci + s2At(bytecode, bci + 1)
    return opcode === GOTO || opcode === JSR ? [target] : [target, bci + length]
  }
  if (opcode === TABLESWITCH || opcode === LOOKUPSWITCH) {
    const operands = switchOperands(bci)
    const targets = [bci + s4At(bytecode, operands)]
    // tableswitch: default, low, high, offsets; lookupswitch: default, count, (match, offset) pairs
    const step = opcode === TABLESWITCH ? 4 : 8
    for (let at = operands + 12; at < bci + length; at += step) targets.push(bci + s4At(bytecode, at))
    return targets
  }
  return endsFlow(opcode) ? [] : [bci + length]
}

/** The rows of an exception table that hold at `bci`, in their order. */
export function* handlersAt(handlers: readonly Handler[], bci: number): Iterable<Handler> {
  for (const handler of handlers) if (bci >= handler.startBci && bci < handler.endBci) yield handler
}

/** Depth of what is never reached, or only by the way back from a subroutine. */
export const UNKNOWN_DEPTH = -1

/** Slots on the stack before each instruction, by bci. */
export function stackDepths(classFile: ClassFile, code: Code): Int32Array {
  const { bytecode, handlers } = code
  const depths = new Int32Array(bytecode.length).fill(UNKNOWN_DEPTH)
  const pending: number[] = []
  const flow = (bci: number, depth: number) => {
    if (depths[bci] === depth) return
    if (depths[bci] !== UNKNOWN_DEPTH)
      throw new NotInstrumentable('malformed: two stack depths at one instruction')
    depths[bci] = depth
    pending.push(bci)
  }
  flow(0, 0)
  for (const { handlerBci } of handlers) flow(handlerBci, 1) // reached or not
  for (let bci = pending.pop(); bci !== undefined; bci = pending.pop()) {
    const { pops, pushes } = stackEffect(classFile.pool, bytecode, bci)
    const depth = depths[bci] - pops + pushes
    if (pops > depths[bci] || depth > code.maxStack) {
      throw new NotInstrumentable('malformed: the stack underflows or overflows')
    }
    for (const next of successors(bytecode, bci)) flow(next, depth)
  }
  return depths
}
