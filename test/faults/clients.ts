// A client that records while its target fails: its last messages, and the data that it keeps.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type JavaExit, type JavaProcess, temporaryDirectory } from '../support/java-process.ts'
import { type JsonProfile, readProfileJson, startJfluid, stderrLine } from '../support/jfluid.ts'
import type { Chance } from './trials.ts'

/** Steps of a client, as named in its output. */
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

/** Runs `jfluid record` with a separate output file. */
export function recordInto(pid: number, ...args: string[]): RecordingClient {
  const file = join(temporaryDirectory('jfluid-profile-'), 'p.jfluid')
  return { process: startJfluid('record', String(pid), '--out', file, ...args), file }
}

/** Resolves at a random moment during or after the step; at once if the client has ended before. */
export async function momentOf(client: RecordingClient, phase: RegExp, chance: Chance): Promise<void> {
  const after = chance.between(0, 60)
  const ended = client.process.exit.then(() => {})
  await Promise.race([stderrLine(client.process, phase).then(() => sleep(after)), ended])
}

/** Returns whether the client had data to save. */
export function hadBegun({ process }: RecordingClient): boolean {
  return /^recording/m.test(process.stderr())
}

export interface Verdict {
  readonly exit: JavaExit
  /** Errors in the client's output. */
  readonly wrong: readonly string[]
  /** Null if the client kept no profile. */
  readonly profile: JsonProfile | null
}

/**
 * Waits for the end of the client.
 *
 * @param expected  last message for each exit code; code 0 needs no message
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
