// JDK methods that return the target of a method handle. Their results are hidden from C1, which would otherwise inline the target and run
// it without probes (instrument/handle-members.ts).
// These probes must be part of the first redefinition of a recording, or of an earlier redefinition. Redefining these methods also discards
// C1 code of method handles, because C1 records that it has inlined the methods listed here.
// Methods that the JDK of the target does not have are skipped.

import { HANDLE_MEMBER_CLASS, HANDLE_MEMBER_RESULT } from '../../instrument/handle-members.ts'
import type { Task } from './instrumenter.ts'
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
