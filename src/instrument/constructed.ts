// Finds where an instance created by `new` has just been initialised (--liveness): after its constructor call, if its
// reference is certainly on top of the stack.
//
//     new C             d      stack depth before the instruction, in slots
//     dup               d + 1
//     ...               d + 2  pushes the arguments; this code does not use the slots d and d + 1
//     C.<init>                 initialises the object in slot d + 1: afterwards slot d holds the instance
//
// Compilers generate this pattern. Code with another pattern, such as an instance discarded without a dup, gets no
// probe. The check needs no types, since bytecode can only move an uninitialised reference.

import type { ClassFile } from '../classfile/class-file.ts'
import { type Code, instructionLength } from '../classfile/code.ts'
import { argumentSlots } from '../classfile/descriptor.ts'
import { DUP, INVOKESPECIAL, NEW, SWAP } from '../classfile/opcodes.ts'
import { u2At } from '../classfile/reader.ts'
import { stackDepths, stackEffect, successors } from './flow.ts'
import { NotInstrumentable } from './problem.ts'

/** Number of top stack slots that an instruction moves, for dup, dup_x1 … swap. dup and dup2 move no slot. */
const MOVED: readonly number[] = [0, 2, 3, 0, 3, 4, 2]

/** Returns the bcis of constructor calls after which the new instance is on top of the stack. */
export function constructorCalls(classFile: ClassFile, code: Code): Set<number> {
  const { bytecode } = code
  const found = new Set<number>()
  const news: number[] = []
  for (let bci = 0; bci < bytecode.length; bci += instructionLength(bytecode, bci)) {
    if (bytecode[bci] === NEW && bytecode[bci + 3] === DUP) news.push(bci)
  }
  if (news.length === 0) return found
  let depths: Int32Array
  try {
    depths = stackDepths(classFile, code)
  } catch (problem) {
    if (!(problem instanceof NotInstrumentable)) throw problem
    return found // the code contains subroutines, as old compilers generate
  }
  const jumps = jumpsOf(bytecode)
  for (const at of news) {
    const call = constructorOf(classFile, bytecode, at, depths)
    const isEntered = jumps.some(
      ([from, to]) => to > at && to <= call && !(from > at && from < call), // a jump from outside to a position between `new` and the call
    )
    if (call > 0 && !isEntered) found.add(call)
  }
  return found
}

/** Returns the bci of the constructor call for the instance of the `new` at `at`; -1 if the call cannot be found with certainty. */
function constructorOf({ pool }: ClassFile, bytecode: Uint8Array, at: number, depths: Int32Array): number {
  const owner = pool.className(u2At(bytecode, at + 1))
  const base = depths[at]!
  if (base < 0) return -1
  for (let bci = at + 4; bci < bytecode.length; bci += instructionLength(bytecode, bci)) {
    const depth = depths[bci]!
    const opcode = bytecode[bci]!
    if (depth < base + 2) return -1 // the code uses lower slots, or is unreachable
    if (opcode === INVOKESPECIAL) {
      const callee = pool.memberRef(u2At(bytecode, bci + 1))
      const receiver = depth - argumentSlots(callee.descriptor) - 1
      if (callee.name === '<init>' && receiver === base + 1) return callee.owner === owner ? bci : -1
    }
    const moved = opcode >= DUP && opcode <= SWAP ? MOVED[opcode - DUP]! : 0
    if (depth - Math.max(moved, stackEffect(pool, bytecode, bci).pops) < base + 2) return -1
  }
  return -1
}

function jumpsOf(bytecode: Uint8Array): (readonly [from: number, to: number])[] {
  const jumps: (readonly [number, number])[] = []
  for (let bci = 0; bci < bytecode.length; bci += instructionLength(bytecode, bci)) {
    const next = bci + instructionLength(bytecode, bci)
    for (const to of successors(bytecode, bci)) if (to !== next) jumps.push([bci, to])
  }
  return jumps
}
