// Code that is about to replace other code: whether it type-checks where the JVM does not look.
//
// The JVM runs the original, so the original is right, and whatever that takes of other classes is so. The
// rewritten code may need that and no more: no class but its own has to be known here.

import { type ClassFile, ClassFormatProblem, parseClassFile } from '../classfile/class-file.ts'
import { type SplicedBody, spliceClass } from '../classfile/splice.ts'
import { KNOWS_NOTHING, type TypeCheck, TypeChecker } from './check.ts'

/** A class with constants to append and bodies to put in. */
export interface Rewritten {
  readonly poolBytes: Uint8Array
  readonly poolEntries: number
  readonly bodies: readonly SplicedBody[]
}

/**
 * Why bodies must not be sent, by method index; empty if all may be. A body that cannot be judged (class
 * files of before version 50) is refused as well.
 */
export function refusedBodies(original: ClassFile, rewritten: Rewritten): Map<number, string> {
  const refused = new Map<number, string>()
  const { poolBytes, poolEntries, bodies } = rewritten
  if (bodies.length === 0) return refused
  let classFile: ClassFile
  try {
    classFile = parseClassFile(spliceClass(original, poolEntries, poolBytes, bodies))
  } catch (problem) {
    if (!(problem instanceof ClassFormatProblem)) throw problem
    return new Map(bodies.map(({ methodIndex }) => [methodIndex, `the rewritten class: ${problem.message}`]))
  }
  const before = new TypeChecker(original, KNOWS_NOTHING)
  const after = new TypeChecker(classFile, KNOWS_NOTHING)
  for (const { methodIndex } of bodies) {
    const old = before.check(original.methods[methodIndex])
    const reason =
      refusal('the code', old) ??
      refusal(
        'the rewritten code',
        after.check(classFile.methods[methodIndex], old.ok ? old.assumptions : undefined),
      )
    if (reason !== undefined) refused.set(methodIndex, reason)
  }
  return refused
}

function refusal(what: string, result: TypeCheck): string | undefined {
  if (result.ok === true) return undefined
  if (result.ok === undefined) return `${what} cannot be type-checked: ${result.unchecked}`
  return `${what} does not type-check: ${result.reason}, at bci ${result.bci}`
}
