// Probes that store the values of a root call from which the paths of --show and --by start.
//
// The probes precede the root's other probes. They only store the value in the thread's record (JFluid1Values); the fields and getters of
// the path are read before an outermost root call begins. A constructor's `this` is not stored: it is not initialised at the entry.

import { ACC_STATIC } from '../classfile/access.ts'
import type { MethodInfo } from '../classfile/class-file.ts'
import { parseMethodDescriptor, typeSlots } from '../classfile/descriptor.ts'
import { ALOAD, DLOAD, DUP, DUP2, F2D, FLOAD, I2L, ILOAD, LLOAD } from '../classfile/opcodes.ts'
import { accessCode } from './new-local.ts'
import { call, pushId } from './probe.ts'
import type { RootValueRefs } from './runtime.ts'

/** Where a path starts: the receiver, the argument with this index, the result, or the exception. */
export type ValueStart = 'this' | 'return' | 'thrown' | number

/** Maximum number of stack slots that the probes need in addition to the result. */
export const ROOT_VALUE_SLOTS = 3

/** Flag in the number of a start: the value is the result. */
const RETURNED = 8
const KIND_SHIFT = 8

/** Returns the probes at the entry of a root, for each start that the root has. */
export function rootValueEntry(
  starts: readonly ValueStart[],
  { access, name, descriptor }: MethodInfo,
  refs: RootValueRefs,
): number[] {
  const isStatic = (access & ACC_STATIC) !== 0
  const types = parseMethodDescriptor(descriptor).parameters
  return starts.flatMap((start, number) => {
    if (start === 'this') {
      return isStatic || name === '<init>' ? [] : stored(accessCode(ALOAD, 0), 'L', number, refs)
    }
    if (typeof start !== 'number' || start >= types.length) return []
    const before = types.slice(0, start).reduce((sum, type) => sum + typeSlots(type), isStatic ? 0 : 1)
    return stored(accessCode(loadOf(types[start]), before), types[start], number, refs)
  })
}

/** Returns the probe before each return instruction; the result is on the stack. */
export function rootValueReturn(
  starts: readonly ValueStart[],
  { descriptor }: MethodInfo,
  refs: RootValueRefs,
): number[] {
  const number = starts.indexOf('return')
  const type = parseMethodDescriptor(descriptor).returnType
  if (number < 0 || type === 'V') return []
  return stored([typeSlots(type) === 2 ? DUP2 : DUP], type, number + RETURNED, refs)
}

/** Returns code that stores the value which `load` pushes. */
function stored(load: readonly number[], type: string, start: number, refs: RootValueRefs): number[] {
  switch (type[0]) {
    case 'L':
    case '[':
      return [...load, ...pushId(start), ...call(refs.object)]
    case 'D':
      return [...load, ...withKind(type, start), ...call(refs.double)]
    case 'F':
      return [...load, F2D, ...withKind(type, start), ...call(refs.double)]
    case 'J':
      return [...load, ...withKind(type, start), ...call(refs.long)]
    default:
      return [...load, I2L, ...withKind(/[ZC]/.test(type) ? type : 'J', start), ...call(refs.long)]
  }
}

const withKind = (type: string, start: number) => pushId(start + (type.charCodeAt(0) << KIND_SHIFT))

function loadOf(type: string): number {
  switch (type[0]) {
    case 'L':
    case '[':
      return ALOAD
    case 'J':
      return LLOAD
    case 'F':
      return FLOAD
    case 'D':
      return DLOAD
    default:
      return ILOAD
  }
}
