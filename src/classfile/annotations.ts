// Searches the annotations of methods (JVMS 4.7.16), and skips annotations.

import type { ClassFile, MethodInfo } from './class-file.ts'
import { ClassFormatProblem } from './problem.ts'
import { Reader } from './reader.ts'

/**
 * Returns whether the method has the annotation. Finds annotations of class retention and of runtime retention.
 *
 * @param descriptor  descriptor of the annotation type: `Ljdk/internal/vm/annotation/IntrinsicCandidate;`
 */
export function hasAnnotation(classFile: ClassFile, method: MethodInfo, descriptor: string): boolean {
  for (const { name, offset, length } of method.attributes) {
    if (name !== 'RuntimeVisibleAnnotations' && name !== 'RuntimeInvisibleAnnotations') continue
    const reader = new Reader(classFile.bytes, offset, offset + length)
    for (let left = reader.u2(); left > 0; left--) {
      if (classFile.pool.utf8(reader.u2()) === descriptor) return true
      skipElements(reader, 0)
    }
  }
  return false
}

/** Skips an annotation, including `type_index`. */
export function skipAnnotation(reader: Reader): void {
  reader.skip(2)
  skipElements(reader, 0)
}

/** Maximum nesting depth. Real annotations are less deep; hostile bytes could cause 20,000 levels of recursion. */
const MAX_DEPTH = 64

function skipElements(reader: Reader, depth: number): void {
  for (let left = reader.u2(); left > 0; left--) {
    reader.skip(2)
    skipValue(reader, depth)
  }
}

function skipValue(reader: Reader, depth: number): void {
  if (depth > MAX_DEPTH) throw new ClassFormatProblem(`annotation nested deeper than ${MAX_DEPTH}`)
  const tag = String.fromCharCode(reader.u1())
  if (tag === '@') {
    reader.skip(2)
    skipElements(reader, depth + 1)
  } else if (tag === '[') {
    for (let left = reader.u2(); left > 0; left--) skipValue(reader, depth + 1)
  } else if (tag === 'e') {
    reader.skip(4)
  } else if ('BCDFIJSZsc'.includes(tag)) {
    reader.skip(2)
  } else {
    throw new ClassFormatProblem(`annotation value of unknown tag ${JSON.stringify(tag)}`)
  }
}
