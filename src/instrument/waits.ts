// Probes where a thread may wait. They separate the time of waits from the running time.
//
//     dup; lockWanted                      reads the object's header
//     monitorenter                         the probe leaves no value on the stack, see lockWanted in JFluid1.java
//     lockTaken                            if another thread owned the monitor: records the duration of the wait
//
// A synchronized method owns its monitor before its first instruction. So the caller announces the call before it may wait, and the
// method reports that it owns the monitor:
//
//     hash; calling
//     invoke…
//
//     this or its class; hash; monitorHeld before the entry probe
//
// A JDK method that waits contains the probes itself (session/wait-points.ts). If the method is native, the probes are
// placed around each call of it:
//
//     (the receiver); kind; callWaits      the receiver is null for Thread.sleep
//     invokevirtual wait(J)V
//     callWaited                           not executed if the call throws: the runtime handles this case

import { ACC_STATIC, ACC_SYNCHRONIZED } from '../classfile/access.ts'
import { type ClassFile, MAJOR_1_4, type MethodInfo } from '../classfile/class-file.ts'
import { type Code, forEachInstruction } from '../classfile/code.ts'
import * as op from '../classfile/opcodes.ts'
import { u2At } from '../classfile/reader.ts'
import { call, pushId } from './probe.ts'
import type { Inserted } from './relocation.ts'
import type { WaitRefs } from './runtime.ts'

/** Kinds of waits, as in the runtime (KIND_… of JFluid1Layout.java). */
export const WAIT_KINDS = { blocked: 0, waiting: 1, parked: 2, sleeping: 3 } as const

/** A JDK method that only waits. */
export interface WaitingMethod {
  readonly kind: Exclude<keyof typeof WAIT_KINDS, 'blocked'>
  /** Whether local variable 0 is the object for which the method waits. */
  readonly on: boolean
}

export interface WaitRecipe {
  /** Whether Object.wait(long) and Thread.sleep(long) are native, as up to JDK 18. */
  readonly nativeWaits: boolean
  /** Whether JDK classes have probes, too. */
  readonly jdk: boolean
}

/** Maximum number of stack slots of these probes. */
export const WAIT_SLOTS = 3

export interface WaitProbes {
  readonly inserted: Inserted
  readonly behind: Inserted
}

/**
 * Returns the probes for the instructions of a method; undefined if there are none.
 *
 * @param announces whether each call is announced to the runtime, so that a wait for the monitor of a synchronized callee is recorded
 */
export function waitProbes(
  { pool }: ClassFile,
  { bytecode }: Code,
  { nativeWaits, jdk }: WaitRecipe,
  refs: WaitRefs,
  announces: boolean,
): WaitProbes | undefined {
  const inserted: number[][] = []
  const behind: number[][] = []
  forEachInstruction(bytecode, (bci, opcode) => {
    if (opcode === op.MONITORENTER) {
      inserted[bci] = [op.DUP, ...call(refs.lockWanted)]
      behind[bci] = call(refs.lockTaken)
      return
    }
    if (opcode < op.INVOKEVIRTUAL || opcode > op.INVOKEINTERFACE) return
    const { owner, name, descriptor } = pool.memberRef(u2At(bytecode, bci + 1))
    if (nativeWaits && isNativeWait(opcode, name, descriptor)) {
      const tell = [op.DUP, op.ICONST_0 + WAIT_KINDS.waiting, ...call(refs.callWaits)]
      inserted[bci] = [op.DUP2_X1, op.POP2, ...tell, op.DUP_X2, op.POP]
      behind[bci] = call(refs.callWaited)
    } else if (nativeWaits && isNativeSleep(opcode, owner, name, descriptor)) {
      inserted[bci] = [op.ACONST_NULL, op.ICONST_0 + WAIT_KINDS.sleeping, ...call(refs.callWaits)]
      behind[bci] = call(refs.callWaited)
    } else if (announces && (jdk || !JDK_CLASS.test(owner))) {
      // A constructor never waits for a monitor, but its call is announced, since the cost of an announcement is subtracted for every call.
      inserted[bci] = [...pushId(nameHash(name, descriptor)), ...call(refs.calling)]
    }
  })
  return inserted.length === 0 ? undefined : { inserted, behind }
}

/**
 * Matches arrays and most JDK classes. Calls of their methods are announced only if the JDK has probes. Calls of JDK classes in other
 * packages are always announced, which costs a clock read; such calls are rare.
 */
const JDK_CLASS = /^(?:\[|java\/|javax\/|jdk\/|sun\/)/

function isNativeWait(opcode: number, name: string, descriptor: string): boolean {
  return (
    name === 'wait' && descriptor === '(J)V' && (opcode === op.INVOKEVIRTUAL || opcode === op.INVOKESPECIAL)
  )
}

function isNativeSleep(opcode: number, owner: string, name: string, descriptor: string): boolean {
  return (
    opcode === op.INVOKESTATIC && owner === 'java/lang/Thread' && name === 'sleep' && descriptor === '(J)V'
  )
}

/** Returns the number of a method, from 1 to 2^15 - 1: a hash of name and descriptor, so caller and callee compute the same number. */
function nameHash(name: string, descriptor: string): number {
  let hash = 0
  for (const text of [name, descriptor])
    for (let i = 0; i < text.length; i++) hash = (Math.imul(hash, 31) + text.charCodeAt(i)) | 0
  return ((hash >>> 0) % 32767) + 1
}

/** Returns the code that precedes the entry probe of a method; empty unless the method is synchronized. */
export function monitorEntry(
  { major }: ClassFile,
  { access, name, descriptor }: MethodInfo,
  refs: WaitRefs,
): number[] {
  const isStatic = (access & ACC_STATIC) !== 0
  if ((access & ACC_SYNCHRONIZED) === 0 || (isStatic && major <= MAJOR_1_4)) return []
  const lock = isStatic ? [op.LDC_W, refs.own >>> 8, refs.own & 0xff] : [op.ALOAD_0]
  return [...lock, ...pushId(nameHash(name, descriptor)), ...call(refs.monitorHeld)]
}

/** Returns the code at the start of a method that waits, after its entry probe. */
export function waitEntry({ kind, on }: WaitingMethod, refs: WaitRefs): number[] {
  return [on ? op.ALOAD_0 : op.ACONST_NULL, op.ICONST_0 + WAIT_KINDS[kind], ...call(refs.waitBegins)]
}
