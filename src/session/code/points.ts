// Finds JDK methods in the target that get special probes.

import { ACC_NATIVE } from '../../classfile/access.ts'
import { readableClassFile } from '../../classfile/recent.ts'
import type { Task } from './instrumenter.ts'

/** The method and the probe of a task. */
export type Point = Omit<Task, 'id' | 'classId'>

/** Returns class bytes as the JVM has them; null if the JVM does not provide them. */
export type ClassBytes = (ids: readonly number[]) => Promise<(Uint8Array | null)[]>

/**
 * Returns the tasks for methods that exist in this target. Methods that its JDK lacks, and native methods, are skipped.
 * @param classIds  ids of the bootstrap loader's classes, keyed by internal name
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
