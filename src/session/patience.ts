// How long a session waits for a target that is to let it go.

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
