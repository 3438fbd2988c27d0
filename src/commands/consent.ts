// Asks the user before an action that harms the program.

import { createInterface } from 'node:readline/promises'
import { BusyBeforeFlush } from '../attach/first-redefinition.ts'
import { NeedsConsent } from '../base/errors.ts'
import type { SessionRequest } from '../session/session-options.ts'

/**
 * Starts a session. If that would harm the program, asks on a terminal whether to start it anyway.
 *
 * @param before    clears the last line of the terminal before the question
 * @param orStacks  whether thread dumps may replace calls: a busy JVM then throws BusyBeforeFlush without a question
 * @throws TooManyMethods, BusyBeforeFlush without a terminal, or if the user declines
 */
export async function withConsent<T>(
  request: SessionRequest,
  start: (request: SessionRequest) => Promise<T>,
  before: () => void,
  orStacks = false,
): Promise<T> {
  try {
    return await start(request)
  } catch (problem) {
    if (!(problem instanceof NeedsConsent) || !(process.stdin.isTTY && process.stderr.isTTY)) throw problem
    if (orStacks && problem instanceof BusyBeforeFlush) throw problem
    before()
    if (!(await isWanted(`${problem.message}. ${problem.hint}\nContinue? [y/N] `))) throw problem
    return await withConsent(consented(request, problem), start, before, orStacks)
  }
}

/** Returns the request with the user's consent to this problem. The user is still asked about other problems. */
function consented(request: SessionRequest, problem: NeedsConsent): SessionRequest {
  if (problem instanceof BusyBeforeFlush) return { ...request, mayFlush: true }
  const { maxMethods: _, ...unlimited } = request
  return unlimited
}

async function isWanted(question: string): Promise<boolean> {
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  try {
    const closed = new Promise<string>((resolve) => lines.once('close', () => resolve('')))
    const answer = await Promise.race([lines.question(question), closed])
    return /^y(es)?$/i.test(answer.trim())
  } finally {
    lines.close()
  }
}
