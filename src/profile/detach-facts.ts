// Facts about the target after a detach: whether its code was restored, and remains of jfluid. session/proof.ts collects the facts.

import { list, number, orElse, orNull, type Read, count as readCount, shape, string } from './shape.ts'
import { classesText, count } from './text.ts'

export interface DetachFacts {
  /** Time until the target had its original code and no thread was in a probe. */
  readonly ms: number
  /** Time from the start of the detach until all facts in this object were known. */
  readonly proofMs: number
  /** Number of restored classes, as reported by the JVM. */
  readonly restoredClasses: number
  readonly refusedClasses: number
  /** Duration of all JVM pauses during the detach, whatever their cause; null if the JVM or the file does not report it. */
  readonly pauseMs: number | null
  readonly code: CodeFacts
  /** Remains of jfluid in and around the target, without the remains that stay until the JVM ends (docs/target.md). */
  readonly left: readonly string[]
  /** Checks that were not possible. */
  readonly unseen: readonly string[]
  /** Number of classes that the JVM generated for lambdas of the restored classes. HotSpot never unloads them. */
  readonly lambdaClasses: number
}

/** Code of all methods that had probes: comparison of the JVM's current code with the original. */
export interface CodeFacts {
  readonly checkedClasses: number
  readonly checkedMethods: number
  readonly originalClasses: number
  /** Names of at most MAX_DIFFERENT methods that differ from the original, or are missing. */
  readonly different: readonly string[]
  /** Reason why not all classes were checked; empty if all classes were checked. */
  readonly unchecked: string
}

/** Maximum length of `CodeFacts.different`. */
export const MAX_DIFFERENT = 20

/** Returns "restored: 42 classes original, nothing left", or a description of the differences. */
export function restoredText(facts: DetachFacts): string {
  return `restored: ${codeText(facts)}, ${remainsText(facts, isAllOriginal(facts))}`
}

/** Returns the number of classes with code that differs, or may differ, from the original. */
export function keptProbes(facts: Pick<DetachFacts, 'code' | 'refusedClasses'> | null): number {
  if (facts === null) return 0
  const { checkedClasses, originalClasses } = facts.code
  return Math.max(facts.refusedClasses, checkedClasses - originalClasses)
}

/** Returns whether all code is the original code. False if not all classes were checked. */
function isAllOriginal(facts: DetachFacts): boolean {
  const { checkedClasses, unchecked } = facts.code
  const isLookedAt = checkedClasses > 0 || facts.restoredClasses + facts.refusedClasses === 0
  return keptProbes(facts) === 0 && isLookedAt && unchecked === ''
}

/**
 * Describes the remains of jfluid. "nothing left" requires that every check was possible.
 * @param isOriginal  whether all code is known to be the original code
 */
export function remainsText(
  { left, unseen }: Pick<DetachFacts, 'left' | 'unseen'>,
  isOriginal: boolean,
): string {
  if (left.length > 0) return `still in the JVM: ${left.join(', ')}`
  const nothing = isOriginal ? 'nothing of jfluid remains' : 'nothing else of jfluid remains'
  return unseen.length === 0
    ? nothing
    : `${nothing}; not checked for lack of permission: ${unseen.join(', ')}`
}

function codeText({ restoredClasses, refusedClasses, code }: DetachFacts): string {
  const all = restoredClasses + refusedClasses
  if (all === 0) return 'no class had probes'
  const { checkedClasses, originalClasses, unchecked } = code
  const wrong = checkedClasses - originalClasses
  if (wrong > 0) return `${count(wrong)} of ${classesText(checkedClasses)} NOT restored`
  if (checkedClasses === 0)
    return `${classesText(restoredClasses)}, not verified: ${unchecked === '' ? 'none of their methods can be read' : unchecked}`
  if (checkedClasses < all)
    return `${count(all)} classes, ${count(originalClasses)} of them verified as original`
  return `${classesText(originalClasses)} verified as original`
}

/** Returns warnings about serious problems; usually none. */
export function detachWarnings({
  code,
  left,
  unseen,
  refusedClasses,
  restoredClasses,
}: DetachFacts): string[] {
  const { checkedClasses, originalClasses, different } = code
  const warnings: string[] = []
  const wrong = checkedClasses - originalClasses
  if (wrong > 0) {
    const of = classesText(checkedClasses)
    warnings.push(
      `after the detach, ${wrong} of ${of} did not have their original code: ${different.join(', ')}`,
    )
  } else if (refusedClasses > 0) {
    const of = restoredClasses + refusedClasses
    warnings.push(`after the detach, ${refusedClasses} of ${classesText(of)} still had probes`)
  }
  if (left.length > 0)
    warnings.push(`after the detach, parts of jfluid remained in the JVM: ${left.join(', ')}`)
  if (unseen.length > 0)
    warnings.push(
      `after the detach, these could not be checked for remains of jfluid, for lack of permission: ${unseen.join(', ')}`,
    )
  return warnings
}

/** Reads the facts from a file. */
export const readDetach: Read<DetachFacts> = shape({
  ms: number,
  proofMs: number,
  restoredClasses: readCount,
  refusedClasses: readCount,
  pauseMs: orElse(orNull(number), null),
  code: shape({
    checkedClasses: readCount,
    checkedMethods: readCount,
    originalClasses: readCount,
    different: list(string),
    unchecked: string,
  }),
  left: list(string),
  unseen: list(string),
  lambdaClasses: readCount,
})
