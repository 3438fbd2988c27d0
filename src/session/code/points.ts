// Methods of the JDK that get probes for their own sake: those that a target has.

import { ACC_NATIVE } from '../../classfile/access.ts'
import { readableClassFile } from '../../classfile/recent.ts'
import type { Task } from './instrumenter.ts'

/** What a task says of a method and its probe. */
export type Point = Omit<Task, 'id' | 'classId'>

/** Classes as the JVM has them; null where it does not show them. */
export type ClassBytes = (ids: readonly number[]) => Promise<(Uint8Array | null)[]>

/**
 * The probes that this target can have. A method that its JDK does not have, or that is native there, is left out.
 *
 * @param classIds  by internal name, of the bootstrap loader's classes
 */
export async function tasksAt(
  points: readonly Point[],
  classIds: ReadonlyMap<string, number>,
  classBytes: ClassBytes,
): Promise<Task[]> {
  const names = [...new Set(points.map(({ className }) => className))].filter((name) => classIds.has(name))
  const files = await classBytes(names.map((name) => classIds.get(name)!))
  const there = new Set<string>()
  for (const [i, className] of names.entries()) {
    const file = files[i] ?? null
    for (const { access, name, descriptor } of (file && readableClassFile(file)?.methods) ?? []) {
      if ((access & ACC_NATIVE) === 0) there.add(`${className}.${name}${descriptor}`)
    }
  }
  return points
    .filter(({ className, name, descriptor }) => there.has(`${className}.${name}${descriptor}`))
    .map((it) => ({ ...it, id: 0, classId: classIds.get(it.className)! }))
}
