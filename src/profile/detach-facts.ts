// Facts about the target after a session has detached: whether the target was restored, and any remains. session/proof.ts determines them.

import { list, number, orElse, orNull, type Read, count as readCount, shape, string } from './shape.ts'
import { classesText, count } from './text.ts'

export interface DetachFacts {
  /** Time until the target had its original code and no thread was in a probe. */
  readonly ms: number
  /** Time until all these facts were known, including the detach. */
  readonly proofMs: number
  /** As reported by the JVM. */
  readonly restoredClasses: number
  readonly refusedClasses: number
  /** Duration of all JVM pauses during the detach, whatever their cause; null if the JVM or the file does not report it. */
  readonly pauseMs: number | null
  readonly code: CodeFacts
  /** Remains of jfluid in and around the target, other than the permanent ones (docs/target.md). */
  readonly left: readonly string[]
  /** Checks that were not possible. */
  readonly unseen: readonly string[]
  /** Number of classes made for lambdas of the restored classes. HotSpot never unloads them. */
  readonly lambdaClasses: number
}

/** Code of all methods that had probes: comparison of the JVM's current code with the original. */
export interface CodeFacts {
  readonly checkedClasses: number
  readonly checkedMethods: number
  readonly originalClasses: number
  /** Some of the methods that differ from the original, or are missing. */
  readonly different: readonly string[]
  /** Reason why not all classes were checked; empty if all were. */
  readonly unchecked: string
}

/** Maximum number of names listed. */
export const MOST_DIFFERENT = 20

/** "restored: 42 classes original, nothing left", or the differences. */
export function restoredText(facts: DetachFacts): string {
  return `restored: ${codeText(facts)}, ${remainsText(facts, isAllOriginal(facts))}`
}

/** Returns the number of classes with code that differs, or may differ, from the original. */
export function keptProbes(facts: Pick<DetachFacts, 'code' | 'refusedClasses'> | null): number {
  if (facts === null) return 0
  const { checkedClasses, originalClasses } = facts.code
  return Math.max(facts.refusedClasses, checkedClasses - originalClasses)
}

/** Only covers the classes that were checked. */
function isAllOriginal(facts: DetachFacts): boolean {
  const { checkedClasses, unchecked } = facts.code
  const isLookedAt = checkedClasses > 0 || facts.restoredClasses + facts.refusedClasses === 0
  return keptProbes(facts) === 0 && isLookedAt && unchecked === ''
}

/** "nothing left" requires that every check was possible. @param isOriginal  whether all code is known to be the original code */
export function remainsText(
  { left, unseen }: Pick<DetachFacts, 'left' | 'unseen'>,
  isOriginal: boolean,
): string {
  if (left.length > 0) return `still there: ${left.join(', ')}`
  const nothing = isOriginal ? 'nothing left' : 'nothing else left'
  return unseen.length === 0 ? nothing : `${nothing} but for what may not be looked at: ${unseen.join(', ')}`
}

function codeText({ restoredClasses, refusedClasses, code }: DetachFacts): string {
  const all = restoredClasses + refusedClasses
  if (all === 0) return 'no class had probes'
  const { checkedClasses, originalClasses, unchecked } = code
  const wrong = checkedClasses - originalClasses
  if (wrong > 0) return `${count(wrong)} of ${classesText(checkedClasses)} NOT original`
  if (checkedClasses === 0)
    return `${classesText(restoredClasses)}, not looked at: ${unchecked === '' ? 'none of their methods is to be seen' : unchecked}`
  if (checkedClasses < all)
    return `${count(originalClasses)} of ${count(all)} classes looked at, all original`
  return `${classesText(originalClasses)} original`
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
    warnings.push(`after detach ${wrong} of ${of} did not have the code from before: ${different.join(', ')}`)
  } else if (refusedClasses > 0) {
    const of = restoredClasses + refusedClasses
    warnings.push(`after detach ${refusedClasses} of ${classesText(of)} kept their probes`)
  }
  if (left.length > 0) warnings.push(`after detach something of jfluid was still there: ${left.join(', ')}`)
  if (unseen.length > 0)
    warnings.push(
      `after detach nobody could look for jfluid among what this user may not see of the JVM: ${unseen.join(', ')}`,
    )
  return warnings
}

/** Reads the facts from a file. */
export const readDetach: Read<DetachFacts> = shape({
  ...{ ms: number, proofMs: number, restoredClasses: readCount, refusedClasses: readCount },
  pauseMs: orElse(orNull(number), null),
  code: shape({
    ...{ checkedClasses: readCount, checkedMethods: readCount, originalClasses: readCount },
    ...{ different: list(string), unchecked: string },
  }),
  ...{ left: list(string), unseen: list(string), lambdaClasses: readCount },
})
