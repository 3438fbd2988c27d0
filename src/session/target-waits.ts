// Timeouts for the target: for a detach, after a lost link, and while the process is stopped.

import { isStopped, TargetStopped } from '../attach/admission.ts'
import { endsNow, readTargetProcess, type TargetProcess } from '../attach/target-process.ts'
import { afterOwnTime } from '../base/own-time.ts'

/** Timeout of a detach. After the timeout, the client leaves without an answer. */
const DETACH_TIMEOUT_MS = 10_000
/** Timeout of a detach over a network, where the rest of the buffer must be transferred first. */
export const REMOTE_DETACH_TIMEOUT_MS = 60_000

/** Thrown if the target is stopped (SIGSTOP), or too busy to answer. */
export class TargetSilent extends Error {
  constructor(pid: number, ms: number) {
    super(`JVM ${pid} did not answer for ${ms / 1000} s; its agent detaches as soon as the JVM runs again`)
  }
}

/** @throws TargetSilent after the timeout; the work may then continue */
export async function answerInTime<T>(work: Promise<T>, pid: number, ms = DETACH_TIMEOUT_MS): Promise<T> {
  let answered = (): void => {}
  const late = new Promise<never>((_, reject) => {
    answered = afterOwnTime(ms, () => reject(new TargetSilent(pid, ms)))
  })
  try {
    return await Promise.race([work, late])
  } finally {
    answered()
  }
}

// A lost link: either the JVM has ended, or only the agent has left.

/** Socket errors caused by the network and not by the JVM's end. */
const NETWORK_ERROR = /\b(?:ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENETDOWN)\b/

/**
 * Returns why a session with a lost link has ended.
 *
 * @param target  the process while the link existed; undefined if unknown
 * @param reason  the reason that the link gives
 * @returns null if the JVM has ended, as far as visible
 */
export async function whyLinkWasLost(
  target: TargetProcess | undefined,
  reason: string,
): Promise<string | null> {
  if (target === undefined ? !NETWORK_ERROR.test(reason) : await endsNow(target)) return null
  return `the connection to its agent was lost (${reason})`
}

// A stopped target (SIGSTOP, a debugger, a paused container) never answers, however long the client waits.

const CHECK_INTERVAL_MS = 250
/** Maximum wait for a stopped target before the session has begun. */
const STOPPED_TIMEOUT_MS = 10_000

/** Returns the error for a stopped process; null if the process is not stopped. */
export function stopOf(pid: number): TargetStopped | null {
  const state = readTargetProcess(pid)?.state
  return isStopped(state) ? new TargetStopped(pid, state) : null
}

/**
 * Runs work for which the target must run.
 *
 * @param pid      null if unknown: the process is then not checked
 * @param onPhase  receives a note when the target is stopped, and the previous phase when it continues
 * @throws TargetStopped if the target does not continue; the work may continue later
 */
export async function whileRunning<T>(
  pid: number | null,
  onPhase: (phase: string) => void,
  work: (onPhase: (phase: string) => void) => Promise<T>,
  stoppedTimeoutMs = STOPPED_TIMEOUT_MS,
): Promise<T> {
  if (pid === null) return await work(onPhase)
  let phase: string | null = null
  // Counts checks instead of time: this client may have been stopped as well.
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
    working.catch(() => {}) // the promise ends with the link, and the end of the link is reported
    throw problem
  } finally {
    clearInterval(timer)
  }
}
