// Runs `fixtures/everything` with and without jfluid; returns its output, and whether it still makes progress.

import { existsSync, readFileSync } from 'node:fs'
import { readProfile } from '../../src/profile/file.ts'
import { compileEverything } from '../fixtures/fixtures.ts'
import { threadDump } from '../live/remains.ts'
import { type JavaProcess, startJava } from '../support/java-process.ts'
import type { Jdk } from '../support/jdks.ts'
import type { Outcome } from './trials.ts'

/** Each part of the program takes a tenth of a second alone. Without output for longer than this, the program hangs. */
const SILENT_MS = 60_000

/** Options of the sessions; each is combined with `--jdk`, except a region. */
export const MODES = [
  ['--scheme', 'a'],
  ['--scheme', 'b'],
  ['--follow-threads'],
  ['--mode', 'locks'],
  ['--mode', 'count'],
  ['--mode', 'bytecodes'],
  ['--mode', 'alloc'],
  ['--mode', 'alloc', '--liveness'],
  ['--mode', 'sample', '--every', '1000bc'],
  ['--call-sites'],
  ['--slow', 'p99'],
  ['--trace', '3'],
  ['--region', 'every.Main.part'],
] as const

/** Returns all options of a mode with a root. A region replaces the root, and has no callees. */
export function withRoot(root: string, flags: readonly string[]): readonly string[] {
  return flags[0] === '--region' ? flags : ['--root', root, '--jdk', '--yes', ...flags]
}

interface Told {
  readonly out: string
  /** The program's own lines of its standard error, which begin with "err: ". */
  readonly err: string
  readonly code: number | null
}

export const told = (p: JavaProcess, code: number | null): Told => ({
  out: p.stdout(),
  err: p
    .stderr()
    .split('\n')
    .filter((line) => line.startsWith('err: '))
    .join('\n'),
  code,
})

/** Returns the differences, one per line. */
export function differences(found: Told, alone: Told): string[] {
  const lines = (text: string) => text.split('\n')
  const wrong = lines(alone.out).flatMap((line, i) => {
    const other = lines(found.out)[i]
    return other === line ? [] : [`it printed ${JSON.stringify(other)} in place of ${JSON.stringify(line)}`]
  })
  if (lines(found.out).length > lines(alone.out).length) wrong.push('it printed more lines')
  if (found.err !== alone.err) wrong.push(`it said ${JSON.stringify(found.err)}`)
  return wrong
}

/** Returns a difference in the exit status of the program, or of the client that passes the status on. */
export const ending = (found: Told, alone: Told): string[] =>
  found.code === alone.code ? [] : [`it ended with ${found.code}`]

/** Returns whether `over` is settled before the program has printed nothing for too long. */
export async function goesOn(p: JavaProcess, over: Promise<unknown>): Promise<boolean> {
  let length = -1
  let timer: NodeJS.Timeout | undefined
  const silent = new Promise<boolean>((resolve) => {
    timer = setInterval(() => {
      if (p.stdout().length === length) resolve(false)
      length = p.stdout().length
    }, SILENT_MS)
  })
  const result = await Promise.race([over.then(() => true), silent])
  clearInterval(timer)
  return result
}

export async function hung(p: JavaProcess, jvm: number): Promise<Outcome> {
  const last = p.stdout().trimEnd().split('\n').at(-1)
  return { harm: [`it hung after ${last}\n${await threadDump(jvm)}`], profile: 'none', left: null }
}

const alones = new Map<Jdk, Promise<Told>>()

/** Returns the output and exit code of the program without jfluid. */
export function alone(jdk: Jdk): Promise<Told> {
  let known = alones.get(jdk)
  if (known === undefined) {
    known = compileEverything(jdk).then(async (classes) => {
      const java = startJava(jdk, ['-cp', classes, 'every.Main', 'run'])
      return told(java, (await java.exit).code)
    })
    alones.set(jdk, known)
  }
  return known
}

/** Returns the process id of the JVM that `jfluid run` has started. */
export function childOf({ pid }: JavaProcess): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')[0])
}

/** Returns whether a profile exists and contains events. */
export async function isKept(file: string): Promise<Outcome['profile']> {
  if (!existsSync(file)) return 'lost'
  const { events } = await readProfile(file)
  return events.count > 0 ? 'kept' : 'lost'
}
