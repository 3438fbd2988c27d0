// How long a session waits for its target: for one that is to let it go, whose link is lost, or that is stopped.

import { isStopped, TargetStopped } from '../attach/admission.ts'
import { endsNow, readTargetProcess, type TargetProcess } from '../attach/target-process.ts'
import { afterOwnTime } from '../base/own-time.ts'

/** How long a detach may take before we leave without an answer. */
const DETACH_MS = 10_000
/** The same where what is left of its buffer has to come over a network first. */
export const FAR_DETACH_MS = 60_000

/** A target that is stopped (SIGSTOP), or so busy that it does not answer. */
export class TargetSilent extends Error {
  constructor(pid: number, ms: number) {
    super(`JVM ${pid} did not answer for ${ms / 1000} s; its agent detaches as soon as it runs again`)
  }
}

/** @throws TargetSilent if the work takes too long; it may go on then */
export async function answerInTime<T>(work: Promise<T>, pid: number, ms = DETACH_MS): Promise<T> {
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

// A link that is lost: has its JVM ended, or has only the agent left?

/** What a socket says where not the JVM has gone, but the way to it. */
const NETWORK = /\b(?:ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENETDOWN)\b/

/**
 * Why a session has ended whose link is lost.
 *
 * @param target  as it was while the link was there; undefined if nothing is known of it
 * @param reason  why the link was lost, as it tells
 * @returns null if the JVM has ended, as far as can be seen
 */
export async function whyLinkWasLost(
  target: TargetProcess | undefined,
  reason: string,
): Promise<string | null> {
  if (target === undefined ? !NETWORK.test(reason) : await endsNow(target)) return null
  return `the connection to its agent was lost (${reason})`
}

// A target that is stopped (SIGSTOP, a debugger, a container that is paused) while something of it is waited for: it answers nothing, however long one waits.

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
