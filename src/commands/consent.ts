// Before a program is harmed, its user is asked.

import { createInterface } from 'node:readline/promises'
import { BusyBeforeFlush } from '../attach/first-redefinition.ts'
import { NeedsConsent } from '../base/errors.ts'
import type { SessionRequest } from '../session/session-options.ts'

/** In place of what was asked about, the user wants stacks of the JVM's threads. */
export class StacksWanted extends Error {
  constructor(readonly because: BusyBeforeFlush) {
    super(because.message)
  }
}

/** Whether there is somebody to ask. */
export function asksOnTerminal(): boolean {
  return process.stdin.isTTY === true && process.stderr.isTTY === true
}

/**
 * Starts a session, and asks on a terminal whether to start it all the same where that would harm the program.
 *
 * @param before    what is on the terminal's last line goes
 * @param orStacks  in place of a session that has a busy JVM flushed, stacks will do
 * @throws TooManyMethods, BusyBeforeFlush without a terminal, or where the answer is no. StacksWanted
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
    if (!(problem instanceof NeedsConsent) || !asksOnTerminal()) throw problem
    before()
    const offersStacks = orStacks && problem instanceof BusyBeforeFlush
    const answers = offersStacks ? '[y/s/N] (s: only stacks, which change nothing in it)' : '[y/N]'
    const answer = await answerTo(`${problem.message}. ${problem.hint}\nGo on? ${answers} `)
    if (offersStacks && /^s(tacks)?$/i.test(answer)) throw new StacksWanted(problem)
    if (!/^y(es)?$/i.test(answer)) throw problem
    return await withConsent(consented(request, problem), start, before, orStacks)
  }
}

/** What else there may be to ask about still is. */
function consented(request: SessionRequest, problem: NeedsConsent): SessionRequest {
  if (problem instanceof BusyBeforeFlush) return { ...request, mayFlush: true }
  const { mostMethods: _, ...unlimited } = request
  return unlimited
}

/** @returns nothing, where the terminal was closed or the question interrupted */
async function answerTo(question: string): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  try {
    const closed = new Promise<string>((resolve) => lines.once('close', () => resolve('')))
    return (await Promise.race([lines.question(question), closed])).trim()
  } finally {
    lines.close()
  }
}
