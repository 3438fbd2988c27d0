// What was seen when a session had left its target: whether that was as before, and what of it was not. What is measured is in
// session/proof.ts.

import { list, number, orElse, orNull, type Read, count as readCount, shape, string } from './shape.ts'
import { classesText, count } from './text.ts'

export interface DetachFacts {
  /** Until the target had its code back and nobody was in a probe. */
  readonly ms: number
  /** Until all that is said here was known, the detach included. */
  readonly proofMs: number
  /** As the JVM said. */
  readonly restoredClasses: number
  readonly refusedClasses: number
  /** How long the JVM stood still meanwhile, whatever for; null where it does not tell, and in files that do not. */
  readonly pauseMs: number | null
  readonly code: CodeFacts
  /** What of jfluid is still in and around the target, besides what stays for ever (docs/target.md). */
  readonly left: readonly string[]
  /** What could not be looked at. */
  readonly unseen: readonly string[]
  /** HotSpot never unloads them: those that the restored classes had made. */
  readonly lambdaClasses: number
}

/** The code of all methods that had probes, as the JVM holds it now, beside what it was before. */
export interface CodeFacts {
  readonly checkedClasses: number
  readonly checkedMethods: number
  readonly originalClasses: number
  /** Methods that are not as before, or not there; some of them. */
  readonly different: readonly string[]
  /** Why not all classes were looked at; empty if all were. */
  readonly unchecked: string
}

/** Names that are told. */
export const MOST_DIFFERENT = 20

/** "restored: 42 classes original, nothing left", and what is not so. */
export function restoredText(facts: DetachFacts): string {
  return `restored: ${codeText(facts)}, ${remainsText(facts, isAllOriginal(facts))}`
}

/** How many classes have, or may have, another code than before. */
export function keptProbes(facts: Pick<DetachFacts, 'code' | 'refusedClasses'> | null): number {
  if (facts === null) return 0
  const { checkedClasses, originalClasses } = facts.code
  return Math.max(facts.refusedClasses, checkedClasses - originalClasses)
}

/** As far as that was looked at. */
function isAllOriginal(facts: DetachFacts): boolean {
  const { checkedClasses, unchecked } = facts.code
  const isLookedAt = checkedClasses > 0 || facts.restoredClasses + facts.refusedClasses === 0
  return keptProbes(facts) === 0 && isLookedAt && unchecked === ''
}

/**
 * Nothing is said to be left only where everything could be looked at.
 *
 * @param isOriginal  whether all code is known to be that from before
 */
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

/** What must not be overlooked; none as a rule. */
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

/** From a file. */
export const readDetach: Read<DetachFacts> = shape({
  ...{ ms: number, proofMs: number, restoredClasses: readCount, refusedClasses: readCount },
  pauseMs: orElse(orNull(number), null),
  code: shape({
    ...{ checkedClasses: readCount, checkedMethods: readCount, originalClasses: readCount },
    ...{ different: list(string), unchecked: string },
  }),
  ...{ left: list(string), unseen: list(string), lambdaClasses: readCount },
})
