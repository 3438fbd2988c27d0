// Before a program is harmed, its user is asked.

import { createInterface } from 'node:readline/promises'
import { BusyBeforeFlush } from '../attach/first-redefinition.ts'
import { NeedsConsent } from '../base/errors.ts'
import type { SessionRequest } from '../session/session-options.ts'

/**
 * Starts a session, and asks on a terminal whether to start it all the same where that would harm the program.
 *
 * @param before    what is on the terminal's last line goes
 * @param orStacks  in place of a session that has a busy JVM flushed, stacks will do: it is not asked about
 * @throws TooManyMethods, BusyBeforeFlush without a terminal, or where the answer is no
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
    if (!(await isWanted(`${problem.message}. ${problem.hint}\nGo on? [y/N] `))) throw problem
    return await withConsent(consented(request, problem), start, before, orStacks)
  }
}

/** What else there may be to ask about still is. */
function consented(request: SessionRequest, problem: NeedsConsent): SessionRequest {
  if (problem instanceof BusyBeforeFlush) return { ...request, mayFlush: true }
  const { mostMethods: _, ...unlimited } = request
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
