// How many slots the operand stack of a method needs with its probes.
//
// No more than it takes: C1 keeps a word for each in every frame of the method, used or not, so that one more for
// nothing would be 8 bytes of each call of a recursion.

import { type ClassFile, MAJOR_6 } from '../classfile/class-file.ts'
import { type Code, instructionLength } from '../classfile/code.ts'
import { endsFlow, isReturn } from '../classfile/opcodes.ts'
import { DOUBLE, type Frame, LONG, typeTag, type VerificationType } from '../classfile/stack-map.ts'
import { stackDepths, stackEffect, UNKNOWN_DEPTH } from './flow.ts'
import { NotInstrumentable } from './problem.ts'
import type { Inserted } from './relocation.ts'

/** What a handler has on the stack when it begins, ours or the method's own. */
const THROWN_SLOTS = 1

/**
 * @param frames of the code
 * @param put    code before instructions, but for what is at the start of handlers
 * @param behind code behind instructions
 * @param slots  that any of the probes takes, on top of what is on the stack where it is
 * @param hasHandlers of its own, or of ours
 */
export function stackSlots(
  classFile: ClassFile,
  code: Code,
  frames: readonly Frame[],
  put: Inserted | undefined,
  behind: Inserted | undefined,
  slots: number,
  hasHandlers: boolean,
): number {
  const thrown = hasHandlers ? THROWN_SLOTS : 0
  const most = Math.max(code.maxStack, thrown) + slots
  if (behind !== undefined) return most
  const depth =
    put === undefined ? depthAtReturns(classFile, code, frames) : depthAtProbes(classFile, code, put)
  if (depth === UNKNOWN_DEPTH) return most
  return Math.max(code.maxStack, Math.max(thrown, depth) + slots)
}

export function slotsOf(types: readonly VerificationType[]): number {
  return types.reduce((sum, type) => sum + (typeTag(type) === LONG || typeTag(type) === DOUBLE ? 2 : 1), 0)
}

/**
 * The most that is on the stack at a return. Only the code between that and the frame before it is looked at: without a frame,
 * control comes from the instruction before.
 */
function depthAtReturns({ pool, major }: ClassFile, { bytecode }: Code, frames: readonly Frame[]): number {
  if (major < MAJOR_6) return UNKNOWN_DEPTH
  let most = 0
  let next = 0
  let start = 0
  let depthAtStart = 0
  for (let bci = 0; bci < bytecode.length; bci += instructionLength(bytecode, bci)) {
    if (frames[next]?.bci === bci) {
      start = bci
      depthAtStart = slotsOf(frames[next++]!.stack)
    }
    if (!isReturn(bytecode[bci])) continue
    let depth = depthAtStart
    for (let at = start; at < bci; at += instructionLength(bytecode, at)) {
      if (endsFlow(bytecode[at])) return UNKNOWN_DEPTH
      const { pops, pushes } = stackEffect(pool, bytecode, at)
      depth += pushes - pops
    }
    most = Math.max(most, depth)
  }
  return most
}

/** The most that is on the stack at a return, or where code is put before an instruction. */
function depthAtProbes(classFile: ClassFile, code: Code, put: Inserted): number {
  const { bytecode } = code
  let depths: Int32Array
  try {
    depths = stackDepths(classFile, code)
  } catch (problem) {
    if (!(problem instanceof NotInstrumentable)) throw problem
    return UNKNOWN_DEPTH // what is wrong with it is the JVM's to say
  }
  let most = 0
  for (let bci = 0; bci < bytecode.length; bci += instructionLength(bytecode, bci)) {
    if (!isReturn(bytecode[bci]) && put[bci] === undefined) continue
    if (depths[bci] === UNKNOWN_DEPTH) return UNKNOWN_DEPTH
    most = Math.max(most, depths[bci])
  }
  return most
}
