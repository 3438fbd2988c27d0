// Waits for the target with timeouts: during a detach, after a lost link, and while the process is stopped.

import { isStopped, TargetStopped } from '../attach/admission.ts'
import { endsNow, readTargetProcess, type TargetProcess } from '../attach/target-process.ts'
import { afterWork, lookAt, SWAP } from '../attach/work.ts'
import { afterOwnTime } from '../base/own-time.ts'

/** Timeout of a detach while the agent redefines no class. After the timeout, the client ends the session without an answer of the target. */
export const DETACH_TIMEOUT_MS = 10_000
/** Timeout of a detach over a network, where the rest of the buffer must be transferred first. */
export const REMOTE_DETACH_TIMEOUT_MS = 60_000

/** Thrown if the target is stopped (SIGSTOP), or too busy to answer. */
export class TargetSilent extends Error {
  constructor(pid: number, ms: number) {
    super(`JVM ${pid} did not answer for ${ms / 1000} s; its agent detaches as soon as the JVM runs again`)
  }
}

/**
 * Waits for work of the target.
 *
 * @param ms  timeout; default: 10 s, and up to MAX_WORK_MS while the agent's redefinition runs
 * @throws TargetSilent after the timeout; the work may then continue
 */
export async function answerInTime<T>(work: Promise<T>, pid: number, ms?: number): Promise<T> {
  let answered = (): void => {}
  const late = new Promise<never>((_, reject) => {
    const silent = (waitedMs: number): void => reject(new TargetSilent(pid, waitedMs))
    answered =
      ms === undefined
        ? afterWork(DETACH_TIMEOUT_MS, () => lookAt(pid, SWAP), silent)
        : afterOwnTime(ms, () => silent(ms))
  })
  try {
    return await Promise.race([work, late])
  } finally {
    answered()
  }
}

// Finds out whether the JVM has ended or only the agent has detached, after the link was lost.

/** Socket errors caused by the network and not by the JVM's end. */
const NETWORK_ERROR = /\b(?:ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENETDOWN)\b/

/**
 * Returns the reason why a session with a lost link has ended.
 *
 * @param target  the target's process when the link was open; undefined if it is not known
 * @param reason  the reason that the link gives for its loss
 * @returns null if the JVM has ended, as far as this can be observed
 */
export async function whyLinkWasLost(
  target: TargetProcess | undefined,
  reason: string,
): Promise<string | null> {
  if (target === undefined ? !NETWORK_ERROR.test(reason) : await endsNow(target)) return null
  return `the connection to its agent was lost (${reason})`
}

// Waits for a stopped target with a timeout: a target that is stopped (by SIGSTOP, a debugger, a paused container) does not answer.

const CHECK_INTERVAL_MS = 250
/** Maximum time to wait for a stopped target before the session has begun. */
const STOPPED_TIMEOUT_MS = 10_000

/** Returns the error for a stopped process; null if the process is not stopped. */
export function stopOf(pid: number): TargetStopped | null {
  const state = readTargetProcess(pid)?.state
  return isStopped(state) ? new TargetStopped(pid, state) : null
}

/**
 * Waits for work that needs a running target.
 *
 * @param pid      process id of the target. If it is null (unknown), the process is not checked
 * @param onPhase  receives a note when the target is stopped, and the previous phase when the target continues
 * @throws TargetStopped if the target stays stopped too long; the work may then continue later
 */
export async function whileRunning<T>(
  pid: number | null,
  onPhase: (phase: string) => void,
  work: (onPhase: (phase: string) => void) => Promise<T>,
  stoppedTimeoutMs = STOPPED_TIMEOUT_MS,
): Promise<T> {
  if (pid === null) return await work(onPhase)
  let phase: string | null = null
  // Counts checks instead of time, since this client may have been stopped together with the target.
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
      if (++looks * CHECK_INTERVAL_MS > stoppedTimeoutMs) reject(stop)
    }, CHECK_INTERVAL_MS)
  })
  const working = work((next) => {
    phase = next
    onPhase(next)
  })
  try {
    return await Promise.race([working, stopped])
  } catch (problem) {
    working.catch(() => {}) // `working` fails when the link is closed, and the closed link is reported elsewhere
    throw problem
  } finally {
    clearInterval(timer)
  }
}
