// Instructions of the probes.
//
// Ids are computed from immediate operands, since constants would make the pool larger in each redefinition. The JIT compiler folds the
// computation to a constant.

import { BIPUSH, I2C, ICONST_0, INVOKESTATIC, IOR, ISHL, SIPUSH } from '../classfile/opcodes.ts'

/** Maximum id: an event has 22 bits for the id. */
export const MAX_ID = (1 << 22) - 1

/** Maximum length of the code that `idProbe` returns, bytes. */
export const MAX_PROBE_BYTES = 12

/** Returns code of at most 9 bytes that pushes an id. */
export function pushId(id: number): number[] {
  if (id < 1 << 15) return pushSmall(id)
  if (id < 1 << 16) return [SIPUSH, id >>> 8, id & 0xff, I2C] // sipush sign-extends, i2c truncates
  // (high << shift) | low, where high has 15 bits and the shift of 5 is a one-byte push
  const shift = id < 1 << 20 ? 5 : 7
  const low = id & ((1 << shift) - 1)
  return [...pushSmall(id >>> shift), ...pushSmall(shift), ISHL, ...pushSmall(low), IOR]
}

/** Returns code that pushes a number below 2^15. */
function pushSmall(value: number): number[] {
  if (value <= 5) return [ICONST_0 + value]
  if (value < 1 << 7) return [BIPUSH, value]
  return [SIPUSH, value >>> 8, value & 0xff]
}

/** Maximum number of stack slots that `pushId` needs. */
export function idSlots(id: number): number {
  return id < 1 << 16 ? 1 : 2
}

/** Returns the code that calls a static method of the runtime. */
export function call(methodref: number): number[] {
  return [INVOKESTATIC, methodref >>> 8, methodref & 0xff]
}

/** Returns code that pushes the id and makes the call. */
export function idProbe(id: number, methodref: number): number[] {
  return [...pushId(id), ...call(methodref)]
}
