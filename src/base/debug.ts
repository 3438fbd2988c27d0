// Debug output that JFLUID_DEBUG enables: one function per topic, undefined while the topic is off. Example:
//
//     debug.wire?.(`sent ${bytes} bytes`)
//
// If the topic is off, this statement only reads one property and formats no text. The functions write to the log of `debug-log.ts`.

/** Topics, with a description of their lines. */
export const TOPICS = {
  attach: 'each step of an attach, and the measured cost of probes',
  wire: 'each message between jfluid and its agent: size, round trip, a summary of its fields',
  reveal: 'roots, the call or class that revealed each method, and the excluded methods with the reason',
  redefine: 'each redefinition: classes, methods, durations, refusals',
  recorder: 'the thread that reads events: rates, long rounds, gaps, snapshots',
  remote: 'connections and requests between a client and a proxy',
  push: 'requests to a profile server',
  end: 'each step of a detach, and the checks of the JVM after it',
} as const

export type Topic = keyof typeof TOPICS

export const debug: { [topic in Topic]?: (text: string) => void } = {}

const MAX_LISTED = 8

/** Returns a list as text, such as "a, b and 17 more", or "none". */
export function some<T>(items: readonly T[], show: (item: T) => string = String): string {
  if (items.length === 0) return 'none'
  const shown = items.slice(0, MAX_LISTED).map(show).join(', ')
  return items.length > MAX_LISTED ? `${shown} and ${items.length - MAX_LISTED} more` : shown
}

/** Returns a duration as text, such as "3.142 ms". */
export function msText(ms: number): string {
  return `${ms.toFixed(3)} ms`
}
