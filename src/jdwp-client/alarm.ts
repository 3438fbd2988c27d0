// Bounded waits: a timer that can be without end.

/** What a timer of Node can count; longer ones would be over at once. */
const MOST_MS = 2 ** 31 - 1

/**
 * Calls `act` after so many ms; never, if they are Infinity.
 *
 * @returns call it to have it not called
 */
export function alarm(ms: number, act: () => void): () => void {
  if (ms === Infinity) return () => {}
  const timer = setTimeout(act, Math.min(ms, MOST_MS))
  return () => clearTimeout(timer)
}
