// The instructions that are put into a method.
//
// Ids are built from immediates, never from the pool, which only ever grows; the JIT folds them.

import { BIPUSH, I2C, ICONST_0, INVOKESTATIC, IOR, ISHL, SIPUSH } from '../classfile/opcodes.ts'

/** Ids are 22 bits in an event. */
export const MAX_ID = (1 << 22) - 1

/** Bytes of the longest `idProbe`. */
export const LONGEST_PROBE = 12

/** A short way to push an id: at most 9 bytes. */
export function pushId(id: number): number[] {
  if (id < 1 << 15) return pushSmall(id)
  if (id < 1 << 16) return [SIPUSH, id >>> 8, id & 0xff, I2C] // sipush extends the sign, i2c cuts it off
  // (high << shift) | low, where high has 15 bits and a shift by 5 takes one byte to push
  const shift = id < 1 << 20 ? 5 : 7
  const low = id & ((1 << shift) - 1)
  return [...pushSmall(id >>> shift), ...pushSmall(shift), ISHL, ...pushSmall(low), IOR]
}

/** Below 2^15. */
function pushSmall(value: number): number[] {
  if (value <= 5) return [ICONST_0 + value]
  if (value < 1 << 7) return [BIPUSH, value]
  return [SIPUSH, value >>> 8, value & 0xff]
}

/** Stack slots that `pushId` needs at most while it builds the id. */
export function idSlots(id: number): number {
  return id < 1 << 16 ? 1 : 2
}

/** Calls a static method of the runtime. */
export function call(methodref: number): number[] {
  return [INVOKESTATIC, methodref >>> 8, methodref & 0xff]
}

/** Pushes the id and calls. */
export function idProbe(id: number, methodref: number): number[] {
  return [...pushId(id), ...call(methodref)]
}
