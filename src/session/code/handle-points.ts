// Where a method handle of the JDK gives what it calls. What these methods return is hidden from C1, which would otherwise
// inline it and run it without probes (instrument/handle-members.ts).
//
// The probes belong into the first redefinition of a recording that gives a method probes, or into one before it. They also
// drop what C1 has compiled of handles, because C1 does record that it has inlined the methods listed here.
//
// A method that this JDK does not have is left out.

import { HANDLE_MEMBER_CLASS, HANDLE_MEMBER_RESULT } from '../../instrument/handle-members.ts'
import type { Task } from './instrumenter.ts'
import { type ClassBytes, type Point, tasksAt } from './points.ts'

/** As JDK 11 to 25 have them: for methods, for static ones of a class that is not initialised, for constructors. */
const POINTS = ['internalMemberName', 'internalMemberNameEnsureInit', 'constructorMethod'].map(
  (name): Point => ({
    className: HANDLE_MEMBER_CLASS,
    name,
    descriptor: `(Ljava/lang/Object;)${HANDLE_MEMBER_RESULT}`,
    probe: 'handle-member',
  }),
)

/** The probes that this target can have: parameters as of `tasksAt`. */
export async function handleTasks(
  classIds: ReadonlyMap<string, number>,
  classBytes: ClassBytes,
): Promise<{ readonly tasks: Task[]; readonly isComplete: boolean }> {
  const tasks = await tasksAt(POINTS, classIds, classBytes)
  return { tasks, isComplete: tasks.length === POINTS.length }
}
