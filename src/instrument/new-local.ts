// Adds local variables directly after the parameters. The indices of all other variables increase.
//
// Variables added at the end would not change other indices. But a compact frame encodes only changes at the end of the previous
// frame's locals. A variable at the end would make every frame a full frame, which needs the classes of
// all parameters in the constant pool.

import { append } from '../base/arrays.ts'
import { ACC_STATIC } from '../classfile/access.ts'
import type { MethodInfo } from '../classfile/class-file.ts'
import { accessAt, type Code, instructionLength } from '../classfile/code.ts'
import { argumentSlots } from '../classfile/descriptor.ts'
import * as op from '../classfile/opcodes.ts'
import { DOUBLE, LONG, TOP, typeTag, type VerificationType } from '../classfile/stack-map.ts'
import { NotInstrumentable } from './problem.ts'

const MAX_LOCALS = 65535

/** The new variables, which have adjacent indices. */
export interface NewLocals {
  readonly first: number
  readonly slots: number
}

/** Returns the index for new variables that need this number of slots. @throws NotInstrumentable */
export function newLocalOf(method: MethodInfo, code: Code, slots = 1): number {
  const { bytecode, maxLocals } = code
  if (maxLocals + slots > MAX_LOCALS) throw new NotInstrumentable('has no room for another local variable')
  const first = argumentSlots(method.descriptor) + ((method.access & ACC_STATIC) === 0 ? 1 : 0)
  for (let bci = 0; bci < bytecode.length; bci += instructionLength(bytecode, bci)) {
    const access = accessAt(bytecode, bci)
    // Some compilers reuse the slots of parameters. A long or double in the last parameter slot and the next slot would be split.
    if (access !== undefined && access.local === first - 1 && isWide(access.opcode)) return maxLocals
  }
  return first
}

function isWide(opcode: number): boolean {
  return opcode === op.LLOAD || opcode === op.DLOAD || opcode === op.LSTORE || opcode === op.DSTORE
}

/** Returns the instruction at `bci` with the new index of its variable; undefined if the index is unchanged. */
export function movedAccess(
  bytecode: Uint8Array,
  bci: number,
  { first, slots }: NewLocals,
): number[] | undefined {
  const access = accessAt(bytecode, bci)
  if (access === undefined || access.local < first) return undefined
  return accessCode(access.opcode, access.local + slots, access.increment)
}

/** Encodes an instruction that accesses a local variable, in its shortest form. */
export function accessCode(opcode: number, local: number, increment = 0): number[] {
  if (opcode === op.IINC) {
    if (local < 256 && increment === (increment << 24) >> 24) return [op.IINC, local, increment & 0xff]
    return [op.WIDE, op.IINC, local >>> 8, local & 0xff, (increment >>> 8) & 0xff, increment & 0xff]
  }
  if (local > 255) return [op.WIDE, opcode, local >>> 8, local & 0xff]
  if (local > 3 || opcode === op.RET) return [opcode, local]
  return [
    opcode < op.ISTORE
      ? op.ILOAD_0 + (opcode - op.ILOAD) * 4 + local
      : op.ISTORE_0 + (opcode - op.ISTORE) * 4 + local,
  ]
}

/** Returns the locals of a frame with new variables of these types inserted. */
export function withNewLocals(
  locals: readonly VerificationType[],
  newLocal: number,
  types: readonly VerificationType[],
): VerificationType[] {
  const all: VerificationType[] = []
  let slots = 0
  let at = 0
  for (; at < locals.length && slots < newLocal; at++) {
    all.push(locals[at])
    slots += typeTag(locals[at]) === LONG || typeTag(locals[at]) === DOUBLE ? 2 : 1
  }
  for (; slots < newLocal; slots++) all.push(TOP)
  append(all, types)
  for (; at < locals.length; at++) all.push(locals[at])
  return all
}
