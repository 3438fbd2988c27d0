// Effects of one instruction on control flow and stack depth.

import type { ClassFile } from '../classfile/class-file.ts'
import { branchTargets, type Code, type Handler, instructionLength } from '../classfile/code.ts'
import type { ConstantPool } from '../classfile/constant-pool.ts'
import { argumentSlots, returnSlots, typeSlots } from '../classfile/descriptor.ts'
import * as op from '../classfile/opcodes.ts'
import { u2At } from '../classfile/reader.ts'
import { NotInstrumentable } from './problem.ts'

/** Returns the numbers of slots that an instruction pops and pushes. For dup… and swap, returns only the number of added slots. */
export function stackEffect(
  pool: ConstantPool,
  bytecode: Uint8Array,
  bci: number,
): { pops: number; pushes: number } {
  const opcode = bytecode[bci] === op.WIDE ? bytecode[bci + 1] : bytecode[bci]
  if (opcode >= op.DUP && opcode < op.SWAP) return { pops: 0, pushes: opcode >= op.DUP2 ? 2 : 1 }
  if (opcode === op.INVOKEDYNAMIC) {
    const { descriptor } = pool.invokeDynamic(u2At(bytecode, bci + 1))
    return { pops: argumentSlots(descriptor), pushes: returnSlots(descriptor) }
  }
  if (opcode >= op.INVOKEVIRTUAL && opcode <= op.INVOKEINTERFACE) {
    const { descriptor } = pool.memberRef(u2At(bytecode, bci + 1))
    const receiver = opcode === op.INVOKESTATIC ? 0 : 1
    return { pops: argumentSlots(descriptor) + receiver, pushes: returnSlots(descriptor) }
  }
  if (opcode >= op.GETSTATIC && opcode <= op.PUTFIELD) {
    const slots = typeSlots(pool.memberRef(u2At(bytecode, bci + 1)).descriptor)
    const receiver = opcode >= op.GETFIELD ? 1 : 0
    const puts = opcode === op.PUTSTATIC || opcode === op.PUTFIELD
    return puts ? { pops: receiver + slots, pushes: 0 } : { pops: receiver, pushes: slots }
  }
  if (opcode === op.MULTIANEWARRAY) return { pops: bytecode[bci + 3], pushes: 1 }
  return { pops: op.POPS[opcode], pushes: op.PUSHES[opcode] }
}

/** Returns whether the opcode is jsr or jsr_w. Then a `ret` may continue at the next instruction. */
export function isSubroutineCall(opcode: number): boolean {
  return opcode === op.JSR || opcode === op.JSR_W
}

/** Returns the bcis of possible successors of an instruction. Ignores exceptions and returns from subroutines. */
export function successors(bytecode: Uint8Array, bci: number): number[] {
  const opcode = bytecode[bci]
  if (opcode === op.WIDE && bytecode[bci + 1] === op.RET) return []
  const targets = branchTargets(bytecode, bci)
  if (!op.endsFlow(opcode) && !isSubroutineCall(opcode)) targets.push(bci + instructionLength(bytecode, bci))
  return targets
}

/** Returns the rows of an exception table whose range contains `bci`, in table order. */
export function* handlersAt(handlers: readonly Handler[], bci: number): Iterable<Handler> {
  for (const handler of handlers) if (bci >= handler.startBci && bci < handler.endBci) yield handler
}

/** Value for the stack depth of unreachable code, and of code that is reachable only from a subroutine. */
export const UNKNOWN_DEPTH = -1

/** Returns the stack depth before each instruction, by bci. */
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
  for (const { handlerBci } of handlers) flow(handlerBci, 1) // the handler may be unreachable
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
