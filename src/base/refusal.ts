// Reasons why a class has no probes: converts the agent's report of a refused redefinition into words for a profile.

/** Prefix of the reasons that the methods of a refused class have. */
const CLASS_REFUSED = 'its class was refused: '

/** Start of a text from `Throwable.toString()`. */
const THROWN = /^(?:[\w$]+\.)+[\w$]*(?:Error|Exception)\b/
/**
 * The JVM reports that the new bytes have other members, supertypes or modifiers than the class. jfluid never changes these parts, so
 * another agent changed the class: either only at its load, or only at its redefinition.
 */
const OTHER_SHAPE = /^java\.lang\.UnsupportedOperationException: (?:class redefinition failed: )?/

/** Returns whether every further redefinition of the class fails too, for any choice of methods. */
export function hasOtherShape(said: string): boolean {
  return OTHER_SHAPE.test(said)
}

/** Reasons for a class that does not exist, from the agent and the client. No calls are missing from the profile because of this class. */
export const CLASS_GONE = 'the class is no longer loaded'
export const NEVER_DEFINED = 'its class was never defined'

/** @param said  the agent's report: the exception of the JVM, or the agent's own reason */
export function classRefusal(said: string): string {
  return CLASS_REFUSED + (THROWN.test(said) ? `the JVM says "${said.replace(OTHER_SHAPE, '')}"` : said)
}

/** Returns why the class was refused; undefined if only the method was refused. */
export function whyClassRefused(reason: string): string | undefined {
  return reason.startsWith(CLASS_REFUSED) ? reason.slice(CLASS_REFUSED.length) : undefined
}

/** Returns whether the reason shows that another agent has changed the class. */
export function isOtherAgents(reason: string): boolean {
  return reason.includes('"attempted to ')
}

/** Temporary reasons, in the agent's words (RuntimeLink.java): the JVM lacked a resource at that moment. */
const TEMPORARY = [
  'the JVM could not start a thread to query its class loader',
  'the JVM lacked memory or stack to query its class loader',
]

/** Returns whether the same redefinition may succeed later. */
export function isTemporary(reason: string): boolean {
  return TEMPORARY.some((it) => reason.includes(it))
}

export const OTHER_AGENT =
  'Another agent adds members to the class only when it is loaded, or only when it is redefined (jfluid doctor names the agents)'
