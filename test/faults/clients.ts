// A client at work while something happens to its target: what it says in the end, and what it keeps.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type JavaExit, type JavaProcess, temporaryDirectory } from '../support/java-process.ts'
import { type JsonProfile, readProfileJson, startJfluid, stderrLine } from '../support/jfluid.ts'
import type { Chance } from './trials.ts'

/** What a client does one after the other, as it says it. */
export const PHASES = [
  /attaching/,
  /calibrating/,
  /reading classes/,
  /instrumenting/,
  /^recording/,
  /^ending/,
] as const

export interface RecordingClient {
  readonly process: JavaProcess
  readonly file: string
}

/** `jfluid record` into a file of its own. */
export function recordInto(pid: number, ...args: string[]): RecordingClient {
  const file = join(temporaryDirectory('jfluid-profile-'), 'p.jfluid')
  return { process: startJfluid('record', String(pid), '--out', file, ...args), file }
}

/** A random moment of the phase, or of what comes after it; at once if the client ends before. */
export async function momentOf(client: RecordingClient, phase: RegExp, chance: Chance): Promise<void> {
  const after = chance.between(0, 60)
  const ended = client.process.exit.then(() => {})
  await Promise.race([stderrLine(client.process, phase).then(() => sleep(after)), ended])
}

/** Whether it came so far as to have something to keep. */
export function hadBegun({ process }: RecordingClient): boolean {
  return /^recording/m.test(process.stderr())
}

export interface Verdict {
  readonly exit: JavaExit
  /** What is wrong with what it said. */
  readonly wrong: readonly string[]
  /** Null if it kept none. */
  readonly profile: JsonProfile | null
}

/**
 * Waits for its end.
 *
 * @param expected  by exit code: what its last words are then; a code of 0 needs none
 */
export async function verdictOf(
  client: RecordingClient,
  expected: Readonly<Record<number, RegExp>>,
): Promise<Verdict> {
  const { process, file } = client
  const exit = await process.exit
  const said = process.stderr()
  const wrong: string[] = []
  const words = exit.code === null ? undefined : expected[exit.code]
  if (words === undefined || !words.test(said))
    wrong.push(`the client ended with ${exit.code}, saying:\n${said}`)
  else if (/internal error|was not answered|^ {4}at /m.test(said)) wrong.push(`the client said:\n${said}`)
  const profile = existsSync(file) ? await readProfileJson(file) : null
  return { exit, wrong, profile }
}
