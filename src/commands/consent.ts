// Asks the user before an action that harms the program.

import { createInterface } from 'node:readline/promises'
import { BusyBeforeFlush } from '../attach/first-redefinition.ts'
import { NeedsConsent } from '../base/errors.ts'
import { ManyThreads, refuseManyThreads } from '../base/many-threads.ts'
import type { SessionRequest } from '../session/session-options.ts'

/** Advice for a command that takes thread dumps. */
export const DUMPS_HINT = 'Add --yes to take thread dumps.'

/**
 * Starts a session. If that would harm the program, asks on a terminal whether to start it anyway.
 *
 * @param before    clears the last line of the terminal before the question
 * @param orStacks  whether the caller can sample with thread dumps instead of recording calls. Then BusyBeforeFlush is thrown for a busy JVM
 *   without a question
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
    if (!(problem instanceof NeedsConsent)) throw problem
    if (orStacks && problem instanceof BusyBeforeFlush) throw problem
    await mustBeWanted(problem, before)
    return await withConsent(consented(request, problem), start, before, orStacks)
  }
}

/** Returns the request with the user's consent to this problem. The user is still asked about other problems. */
function consented(request: SessionRequest, problem: NeedsConsent): SessionRequest {
  if (problem instanceof BusyBeforeFlush) return { ...request, mayFlush: true }
  const { maxMethods: _, ...unlimited } = request
  return unlimited
}

/**
 * Asks on a terminal before thread dumps that may stop the JVM for a noticeable time.
 *
 * @param isGiven  whether the user has consented by --yes
 * @param before   clears the last line of the terminal before the question
 * @throws ManyThreads without a terminal, or if the user declines
 */
export async function consentToDumps(
  pid: number,
  isGiven: boolean | undefined,
  before: () => void = () => {},
): Promise<void> {
  if (isGiven === true) return
  try {
    refuseManyThreads(pid, DUMPS_HINT)
  } catch (problem) {
    if (!(problem instanceof ManyThreads)) throw problem
    await mustBeWanted(problem, before)
  }
}

/** Asks whether to continue. @throws the problem without a terminal, or if the user declines */
async function mustBeWanted(problem: NeedsConsent, before: () => void): Promise<void> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) throw problem
  before()
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  try {
    const closed = new Promise<string>((resolve) => lines.once('close', () => resolve('')))
    const question = `${problem.message}. ${problem.hint}\nContinue? [y/N] `
    const answer = await Promise.race([lines.question(question), closed])
    if (!/^y(es)?$/i.test(answer.trim())) throw problem
  } finally {
    lines.close()
  }
}
