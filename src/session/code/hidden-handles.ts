// JDK methods that return the target of a method handle. Their results are hidden from C1, which would otherwise inline the target and run
// it without probes (instrument/handle-members.ts).
// These probes must be part of the redefinition of the first method that needs them, or of an earlier redefinition. Redefining these methods
// also discards all compiled code that creates or calls a method handle, because the compilers record that they have inlined the methods
// listed here. So scheme adaptive redefines them only together with a method that needs it (decision 155).
// Methods that the JDK of the target does not have are skipped.

import { type ClassFile, ClassFormatProblem } from '../../classfile/class-file.ts'
import { parseCode } from '../../classfile/code.ts'
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

/** Maximum bytecode size of the targets that C1 inlines (C1MaxInlineSize in `c1_globals.hpp`; JDK 15 and older: MaxInlineSize). */
const INLINED_BYTES = 35

/**
 * Returns whether code of method handles that C1 has compiled may run the original code of one of these methods after their redefinition:
 * C1 may have inlined a short method.
 */
export async function mayKeepOriginalCode(tasks: readonly Task[], classBytes: ClassBytes): Promise<boolean> {
  const methods = tasks.filter(isTimed)
  const ids = [...new Set(methods.map(({ classId }) => classId))]
  const bytes = await classBytes(ids)
  const files = new Map(ids.map((id, i) => [id, bytes[i] == null ? null : readableClassFile(bytes[i])]))
  return methods.some((it) => isInlined(files.get(it.classId) ?? null, it))
}

/** Returns true if the method's code is not known. */
function isInlined(file: ClassFile | null, { name, descriptor }: Task): boolean {
  const method = file?.methods.find((it) => it.name === name && it.descriptor === descriptor)
  if (file == null || method?.code === undefined) return true
  try {
    return parseCode(file, method).bytecode.length <= INLINED_BYTES
  } catch (error) {
    if (!(error instanceof ClassFormatProblem)) throw error
    return true // the rewriter reports the problem
  }
}
