// A timeout that does not count time in which this process was stopped.

const SLICES = 10

/**
 * Calls `late` after `ms`, like `setTimeout`, but does not count time in which this process was stopped (SIGSTOP, Ctrl-Z, a suspended
 * machine). Input that arrived while the process was stopped is handled before `late` is called.
 *
 * @returns a function that cancels the timeout
 */
export function afterOwnTime(ms: number, late: () => void): () => void {
  let left = SLICES
  let looked = performance.now()
  const timer = setInterval(() => {
    const now = performance.now()
    // If the timer fires very late, this process was stopped, and unread replies may be queued.
    if (now - looked < (2 * ms) / SLICES + MAX_TIMER_DELAY_MS) left--
    looked = now
    if (left > 0) return
    clearInterval(timer)
    late()
  }, ms / SLICES)
  return () => clearInterval(timer)
}

/** Maximum delay, ms, with which a timer fires on a busy machine while this process is not stopped. */
const MAX_TIMER_DELAY_MS = 100
