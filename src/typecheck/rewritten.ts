// Code that is about to replace other code: whether it type-checks where the JVM does not look.
//
// The JVM runs the original, so the original is right, and whatever that takes of other classes is so. The
// rewritten code may need that and no more: no class but its own has to be known here.
//
// Before JDK 21 HotSpot does not keep the StackMapTables of classes it does not verify (classFileParser.cpp,
// parse_stackmap_table), unless they come from its class data archive and have not been redefined since. It
// shows such a class without them, and drops those of new code, too. Types of code that has lost its frames are
// inferred, with probes and without; what frames the rewriter adds is of no interest then.

import {
  type ClassFile,
  ClassFormatProblem,
  type MethodInfo,
  parseClassFile,
} from '../classfile/class-file.ts'
import { type SplicedBody, spliceClass } from '../classfile/splice.ts'
import { KNOWS_NOTHING, type TypeCheck, TypeChecker } from './check.ts'

/** A class with constants to append and bodies to put in. */
export interface Rewritten {
  readonly poolBytes: Uint8Array
  readonly poolEntries: number
  readonly bodies: readonly SplicedBody[]
}

/**
 * Why bodies must not be sent, by method index; empty if all may be.
 *
 * @param unjudged  whether a body that cannot be judged (it has subroutines) is refused as well
 */
export function refusedBodies(
  original: ClassFile,
  rewritten: Rewritten,
  unjudged = true,
): Map<number, string> {
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
    const [old, now] = [original.methods[methodIndex], classFile.methods[methodIndex]]
    const reason = refusalOf(before, after, old, now, unjudged)
    if (reason !== undefined) refused.set(methodIndex, reason)
  }
  return refused
}

function refusalOf(
  before: TypeChecker,
  after: TypeChecker,
  method: MethodInfo,
  rewritten: MethodInfo,
  unjudged: boolean,
): string | undefined {
  let old = before.check(method)
  const inferred = old.ok === false && !before.hasFrames(method)
  if (inferred) old = before.infer(method)
  if (old.ok !== true) return refusal('the code', old, unjudged)
  const again = inferred ? after.infer(rewritten, old.assumptions) : after.check(rewritten, old.assumptions)
  return refusal('the rewritten code', again, unjudged)
}

function refusal(what: string, result: TypeCheck, unjudged: boolean): string | undefined {
  if (result.ok === true) return undefined
  if (result.ok === undefined && !unjudged) return undefined
  if (result.ok === undefined) return `${what} cannot be type-checked: ${result.unchecked}`
  return `${what} does not type-check: ${result.reason}, at bci ${result.bci}`
}
