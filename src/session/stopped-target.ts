// A target that is stopped (SIGSTOP, a debugger, a container that is paused) while something of it is waited for: it answers nothing, however long one waits.

import { isStopped, TargetStopped } from '../attach/admission.ts'
import { readTargetProcess } from '../attach/target-process.ts'

const LOOK_MS = 250
/** How long a stopped target is waited for before the session has begun. */
const STOPPED_MS = 10_000

/** Why a process does not answer, null if it is not because it is stopped. */
export function stopOf(pid: number): TargetStopped | null {
  const state = readTargetProcess(pid)?.state
  return isStopped(state) ? new TargetStopped(pid, state) : null
}

/**
 * Does work for which the target must run.
 *
 * @param pid      null where it is not known: it is then not looked at
 * @param onPhase  told that the target is stopped, and what was told before when it goes on
 * @throws TargetStopped if it does not go on; the work may, later
 */
export async function whileRunning<T>(
  pid: number | null,
  onPhase: (phase: string) => void,
  work: (onPhase: (phase: string) => void) => Promise<T>,
  patienceMs = STOPPED_MS,
): Promise<T> {
  if (pid === null) return await work(onPhase)
  let phase: string | null = null
  // Of looks, not of time: in which we may have been stopped ourselves.
  let looks = 0
  let timer: NodeJS.Timeout | undefined
  const stopped = new Promise<never>((_, reject) => {
    timer = setInterval(() => {
      const stop = stopOf(pid)
      if (stop === null) {
        if (looks > 0 && phase !== null) onPhase(phase)
        looks = 0
        return
      }
      if (looks === 0) onPhase(`waiting: JVM ${pid} is ${stop.how}`)
      if (++looks * LOOK_MS > patienceMs) reject(stop)
    }, LOOK_MS)
  })
  const working = work((next) => {
    phase = next
    onPhase(next)
  })
  try {
    return await Promise.race([working, stopped])
  } catch (problem) {
    working.catch(() => {}) // it ends with the link, and why is told
    throw problem
  } finally {
    clearInterval(timer)
  }
}
