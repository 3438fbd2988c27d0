// Where a method handle of the JDK gives what it calls. What these methods return is hidden from C1, which would otherwise
// inline it and run it without probes (instrument/handle-members.ts).
//
// The probes belong into the first redefinition of a recording that gives a method probes, or into one before it. They also
// drop what C1 has compiled of handles, because C1 does record that it has inlined the methods listed here.
//
// A method that this JDK does not have is left out.

import { readableClassFile } from '../../classfile/recent.ts'
import { HANDLE_MEMBER_CLASS, HANDLE_MEMBER_RESULT } from '../../instrument/handle-members.ts'
import type { Task } from './instrumenter.ts'

/** As JDK 11 to 25 have them: for methods, for static ones of a class that is not initialised, for constructors. */
const POINTS = ['internalMemberName', 'internalMemberNameEnsureInit', 'constructorMethod'].map((name) => ({
  name,
  descriptor: `(Ljava/lang/Object;)${HANDLE_MEMBER_RESULT}`,
}))

/**
 * The probes that this target can have.
 *
 * @param classIds   by internal name, of the bootstrap loader's classes
 * @param classBytes as the JVM has them; null where it does not show them
 */
export async function handleTasks(
  classIds: ReadonlyMap<string, number>,
  classBytes: (ids: readonly number[]) => Promise<(Uint8Array | null)[]>,
): Promise<{ readonly tasks: Task[]; readonly isComplete: boolean }> {
  const className = HANDLE_MEMBER_CLASS
  const classId = classIds.get(className)
  const [file = null] = classId === undefined ? [] : await classBytes([classId])
  const classFile = file === null ? null : readableClassFile(file)
  if (classId === undefined || classFile === null) return { tasks: [], isComplete: false }
  const methods = new Set(classFile.methods.map((it) => it.name + it.descriptor))
  const tasks = POINTS.filter((it) => methods.has(it.name + it.descriptor)).map((it): Task => {
    return { id: 0, classId, className, ...it, probe: 'handle-member' }
  })
  return { tasks, isComplete: tasks.length === POINTS.length }
}
