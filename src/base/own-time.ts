// Waiting for others, while we can look whether they have answered.

const SLICES = 10

/**
 * Calls back when somebody has kept us waiting for so long, as `setTimeout` would; but what passes while this process is stopped
 * (SIGSTOP, Ctrl-Z, a machine that sleeps) is nobody's delay. What has come in meanwhile is heard before.
 *
 * @returns ends the waiting
 */
export function afterOwnTime(ms: number, late: () => void): () => void {
  let left = SLICES
  let looked = performance.now()
  const timer = setInterval(() => {
    const now = performance.now()
    // A tick that comes much too late stands for time in which we did not run, and answers may be waiting behind it.
    if (now - looked < (2 * ms) / SLICES + LATE_MS) left--
    looked = now
    if (left > 0) return
    clearInterval(timer)
    late()
  }, ms / SLICES)
  return () => clearInterval(timer)
}

/** So late, and later, a timer may be on a busy machine. */
const LATE_MS = 100
