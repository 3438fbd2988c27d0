// Reasons why a class has no probes. Converts the agent's report of a refused redefinition to a reason for the profile.

/** Prefix of a method's reason if the whole class was refused. */
const CLASS_REFUSED = 'its class was refused: '

/** Matches the class name at the start of a text from `Throwable.toString()`. */
const THROWN = /^(?:[\w$]+\.)+[\w$]*(?:Error|Exception)\b/
/**
 * Matches the exception of a JVM that refuses bytes with other members, supertypes or modifiers than the loaded class. jfluid never changes
 * these parts. So another agent changes them, either only when the class is loaded, or only when the class is redefined.
 */
const OTHER_SHAPE = /^java\.lang\.UnsupportedOperationException: (?:class redefinition failed: )?/

/** Returns whether every further redefinition of the class will also fail, for any selection of methods. */
export function hasOtherShape(said: string): boolean {
  return OTHER_SHAPE.test(said)
}

/** Reasons of the agent and of the client for a class that does not exist. No calls are missing in the profile because of such a class. */
export const CLASS_GONE = 'the class is no longer loaded'
export const NEVER_DEFINED = 'its class was never defined'

/** Returns the reason for the profile. @param said  the agent's report: the exception of the JVM, or the agent's own reason */
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

/** Temporary reasons as the agent reports them (RuntimeLink.java): the JVM lacked a resource at the time of the redefinition. */
const TEMPORARY = [
  'the JVM could not start a thread to query its class loader',
  'the JVM lacked memory or stack to query its class loader',
]

/** Returns whether the reason is temporary, so that the same redefinition may succeed later. */
export function isTemporary(reason: string): boolean {
  return TEMPORARY.some((it) => reason.includes(it))
}

export const OTHER_AGENT =
  'Another agent adds members to the class only when it is loaded, or only when it is redefined (jfluid doctor names the agents)'
