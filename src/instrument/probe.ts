// The instructions that are put into a method.
//
// Ids are built from immediates, never from the pool, which only ever grows; the JIT folds them.

import { ALOAD_0, BIPUSH, INVOKESTATIC, IOR, ISHL, SIPUSH } from '../classfile/opcodes.ts'

/** Ids are 22 bits in an event. */
export const MAX_ID = (1 << 22) - 1

/** The shortest way to push an id; at most 10 bytes. */
export function pushId(id: number): number[] {
  if (id < 1 << 7) return [BIPUSH, id]
  if (id < 1 << 15) return [SIPUSH, id >>> 8, id & 0xff]
  // sipush sign-extends, so it pushes 15 bits at a time: (high << 15) | low
  const high = id >>> 15
  const low = id & 0x7fff
  return [SIPUSH, high >>> 8, high & 0xff, BIPUSH, 15, ISHL, SIPUSH, low >>> 8, low & 0xff, IOR]
}

/** Stack slots that `pushId` needs at most while it builds the id. */
export function idSlots(id: number): number {
  return id < 1 << 15 ? 1 : 2
}

/** Pushes the id and calls a static method of the runtime. */
export function idProbe(id: number, methodref: number): number[] {
  return [...pushId(id), INVOKESTATIC, methodref >>> 8, methodref & 0xff]
}

/** Hands `this` to a static method of the runtime. */
export function receiverProbe(methodref: number): number[] {
  return [ALOAD_0, INVOKESTATIC, methodref >>> 8, methodref & 0xff]
}
