// JDK methods that return the target of a method handle. Their results are hidden from C1, which would otherwise inline the target and run
// it without probes (instrument/handle-members.ts).
// These probes must be part of the first redefinition of a recording, or of an earlier redefinition. Redefining these methods also discards
// all compiled code that creates or calls a method handle, because the compilers record that they have inlined the methods listed here. So
// scheme adaptive redefines them only together with a method that needs it (decision 155).
// Methods that the JDK of the target does not have are skipped.

import type { ClassFile } from '../../classfile/class-file.ts'
import { instructionLength, parseCode } from '../../classfile/code.ts'
import { isCall } from '../../classfile/opcodes.ts'
import { readableClassFile } from '../../classfile/recent.ts'
import { HANDLE_MEMBER_CLASS, HANDLE_MEMBER_RESULT } from '../../instrument/handle-members.ts'
import { isTimed, type Task } from './instrumenter.ts'
import { type ClassBytes, type Point, tasksAt } from './points.ts'

/** Methods of the JDK, for handles to methods, to static methods of an uninitialised class, and to constructors. */
const POINTS = ['internalMemberName', 'internalMemberNameEnsureInit', 'constructorMethod'].map(
  (name): Point => ({
    className: HANDLE_MEMBER_CLASS,
    name,
    descriptor: `(Ljava/lang/Object;)${HANDLE_MEMBER_RESULT}`,
    probe: 'handle-member',
  }),
)

/** Returns the probes that are possible in this target. The parameters are explained at `tasksAt`. */
export async function handleTasks(
  classIds: ReadonlyMap<string, number>,
  classBytes: ClassBytes,
): Promise<{ readonly tasks: Task[]; readonly isComplete: boolean }> {
  const tasks = await tasksAt(POINTS, classIds, classBytes)
  return { tasks, isComplete: tasks.length === POINTS.length }
}

/**
 * Returns whether code of method handles that C1 has compiled may run the original code of one of these methods after their redefinition.
 * If a method makes a call, compiled code that contains the method has debug information about it, so HotSpot discards that code.
 */
export async function mayKeepOriginalCode(tasks: readonly Task[], classBytes: ClassBytes): Promise<boolean> {
  const methods = tasks.filter(isTimed)
  const ids = [...new Set(methods.map(({ classId }) => classId))]
  const bytes = await classBytes(ids)
  const files = new Map(ids.map((id, i) => [id, bytes[i] == null ? null : readableClassFile(bytes[i])]))
  return methods.some((it) => !makesCall(files.get(it.classId) ?? null, it))
}

/** Returns false if the method's code is not known. */
function makesCall(file: ClassFile | null, { name, descriptor }: Task): boolean {
  const method = file?.methods.find((it) => it.name === name && it.descriptor === descriptor)
  if (file == null || method?.code === undefined) return false
  const { bytecode } = parseCode(file, method)
  for (let bci = 0; bci < bytecode.length; bci += instructionLength(bytecode, bci))
    if (isCall(bytecode[bci]!)) return true
  return false
}
