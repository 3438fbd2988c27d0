// Reads from a class file where the code of a method is.

import type { ClassFile, MethodInfo } from '../classfile/class-file.ts'
import { linesOf, parseCode } from '../classfile/code.ts'
import { Reader } from '../classfile/reader.ts'
import { readableClassFile } from '../classfile/recent.ts'
import type { LineRange, MethodPlace } from '../profile/source-lines.ts'
import type { Engine } from './engine.ts'

/**
 * Returns the place of a row's method. Reading a class file changes nothing in the target. A method that was only sampled has no known
 * class, so its place is not known.
 *
 * @param id  id of a row
 */
export async function placeOf(
  { agent, names, revealer }: Pick<Engine, 'agent' | 'names' | 'revealer'>,
  id: number,
): Promise<MethodPlace | null> {
  const method = names.methodOf(id)
  if (!revealer.methods.has(method)) return null
  const { classId, name, descriptor } = revealer.methods.get(method)
  const [bytes] = await agent.classBytes([classId])
  const file = bytes ? readableClassFile(bytes) : null
  return file === null ? null : placeIn(file, name, descriptor)
}

/** Returns the place of a method by the attributes SourceFile and LineNumberTable. */
export function placeIn(file: ClassFile, name: string, descriptor: string): MethodPlace {
  const method = file.methods.find((it) => it.name === name && it.descriptor === descriptor)
  return { file: sourceFileOf(file), lines: method === undefined ? null : rangeOf(file, method) }
}

function sourceFileOf({ attributes, bytes, pool }: ClassFile): string | null {
  const attribute = attributes.find(({ name }) => name === 'SourceFile')
  if (attribute === undefined) return null
  return pool.utf8(new Reader(bytes, attribute.offset, attribute.offset + attribute.length).u2())
}

function rangeOf(file: ClassFile, method: MethodInfo): LineRange | null {
  if (method.code === undefined) return null
  const lines = linesOf(file, parseCode(file, method))?.filter((line) => line > 0) ?? []
  if (lines.length === 0) return null
  let [from, to] = [Number.POSITIVE_INFINITY, 0]
  for (const line of lines) {
    from = Math.min(from, line)
    to = Math.max(to, line)
  }
  return { from, to }
}
