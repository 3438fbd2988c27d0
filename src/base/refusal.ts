// Why a class has no probes: what the agent says of a redefinition that was refused as a whole, in words for a profile.

/** Before the reason, of each of its methods. */
const CLASS_REFUSED = 'its class was refused: '

/** As `Throwable.toString()` has it. */
const THROWN = /^(?:[\w$]+\.)+[\w$]*(?:Error|Exception)\b/
/**
 * The bytes have other members, supertypes or modifiers than the class. What jfluid makes of a class has the same, so another agent
 * has changed it: when it was loaded and not when it was redefined, or the other way round.
 */
const OTHER_SHAPE = /^java\.lang\.UnsupportedOperationException: (?:class redefinition failed: )?/

/** Whether no other attempt will do better, whichever methods are to have probes. */
export function hasOtherShape(said: string): boolean {
  return OTHER_SHAPE.test(said)
}

/** What the agent and we say of a class that is not there: it has no calls that could be missing. */
export const CLASS_GONE = 'the class is no longer loaded'
export const NEVER_DEFINED = 'its class was never defined'

/** @param said  by the agent: what the JVM has thrown, or its own reason */
export function classRefusal(said: string): string {
  return CLASS_REFUSED + (THROWN.test(said) ? `the JVM says "${said.replace(OTHER_SHAPE, '')}"` : said)
}

/** Why the class was refused; undefined if it is the method that was. */
export function whyClassRefused(reason: string): string | undefined {
  return reason.startsWith(CLASS_REFUSED) ? reason.slice(CLASS_REFUSED.length) : undefined
}

/** Whether another agent must have changed the class. */
export function isOtherAgents(reason: string): boolean {
  return reason.includes('"attempted to ')
}

/** In the agent's words (RuntimeLink.java): for the moment, the JVM lacked something. */
const NOT_NOW = [
  'there is no thread to ask its class loader',
  'there was no memory or stack to ask its class loader',
]

/** Whether the same may be taken at another time. */
export function isNotNow(reason: string): boolean {
  return NOT_NOW.some((it) => reason.includes(it))
}

export const OTHER_AGENT =
  'Another agent gives the class other members when it is loaded than when it is redefined (jfluid doctor names the agents)'
