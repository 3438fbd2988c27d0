// Type-checks rewritten code before it replaces the original code, for classes that the JVM does not verify.
// The JVM runs the original code. So the original code is valid, and all its assumptions about other classes hold. The rewritten code may
// need no other assumptions. Other classes therefore need not be known here.
// Before JDK 21 HotSpot discards the StackMapTables of classes that it does not verify (classFileParser.cpp, parse_stackmap_table), except
// for classes from its CDS archive that were never redefined. HotSpot returns the bytes of a class without the discarded tables, and
// discards the tables of new code too. If the original code has no frames, types are inferred for the original and for the rewritten code;
// frames that the rewriter adds are ignored.

import {
  type ClassFile,
  ClassFormatProblem,
  type MethodInfo,
  parseClassFile,
} from '../classfile/class-file.ts'
import { type SplicedBody, spliceClass } from '../classfile/splice.ts'
import { KNOWS_NOTHING, type TypeCheck, TypeChecker } from './check.ts'

/** A class, the constants to be appended to it, and the bodies to be replaced. */
export interface Rewritten {
  readonly poolBytes: Uint8Array
  readonly poolEntries: number
  readonly bodies: readonly SplicedBody[]
}

/**
 * Returns, keyed by method index, the reason why a body must not be sent; empty if all bodies may be sent.
 *
 * @param unjudged  whether to refuse also bodies without a verdict (such as code with subroutines)
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
