// Computes the size of the operand stack of a method with probes.
//
// The size is computed exactly: C1 reserves a word for each slot in every frame of the method, so one unnecessary
// slot costs 8 bytes per active call of a recursive method.

import { type ClassFile, MAJOR_6 } from '../classfile/class-file.ts'
import { type Code, instructionLength } from '../classfile/code.ts'
import { endsFlow, isReturn } from '../classfile/opcodes.ts'
import { DOUBLE, type Frame, LONG, typeTag, type VerificationType } from '../classfile/stack-map.ts'
import { stackDepths, stackEffect, UNKNOWN_DEPTH } from './flow.ts'
import { NotInstrumentable } from './problem.ts'
import type { Inserted } from './relocation.ts'

/** Number of stack slots in use at the start of a handler. */
const THROWN_SLOTS = 1

/**
 * @param frames frames of the code
 * @param put    code before instructions, except at the start of handlers
 * @param behind code after instructions
 * @param slots  maximum number of slots that a probe needs above the stack depth at its position
 * @param hasHandlers whether the method has handlers, its own or added ones
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
 * Returns the maximum stack depth at a return instruction. Analyses only the code between the previous frame and the return: without a
 * frame, an instruction is reached only from the instruction before it.
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

/** Returns the maximum stack depth at return instructions and at instructions before which code is inserted. */
function depthAtProbes(classFile: ClassFile, code: Code, put: Inserted): number {
  const { bytecode } = code
  let depths: Int32Array
  try {
    depths = stackDepths(classFile, code)
  } catch (problem) {
    if (!(problem instanceof NotInstrumentable)) throw problem
    return UNKNOWN_DEPTH // the JVM reports the error
  }
  let most = 0
  for (let bci = 0; bci < bytecode.length; bci += instructionLength(bytecode, bci)) {
    if (!isReturn(bytecode[bci]) && put[bci] === undefined) continue
    if (depths[bci] === UNKNOWN_DEPTH) return UNKNOWN_DEPTH
    most = Math.max(most, depths[bci])
  }
  return most
}
