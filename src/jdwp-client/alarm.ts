// A timer for timeouts, which may be infinite.

/** Maximum delay of a Node.js timer, ms. A timer with a longer delay would fire at once. */
const MAX_TIMER_MS = 2 ** 31 - 1

/**
 * Calls `act` after a delay in ms; never if the delay is Infinity.
 *
 * @returns a function that cancels the call
 */
export function alarm(ms: number, act: () => void): () => void {
  if (ms === Infinity) return () => {}
  const timer = setTimeout(act, Math.min(ms, MAX_TIMER_MS))
  return () => clearTimeout(timer)
}
