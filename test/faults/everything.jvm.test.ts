// Everything has probes, the JDK's own classes as well: locks, class initialisation, references, logging, and whatever else
// `fixtures/everything` does must go on as it does without us. What it prints is the same, byte by byte; nothing
// hangs; all code is its own afterwards.

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readProfile } from '../../src/profile/file.ts'
import { compileEverything } from '../fixtures/fixtures.ts'
import { liveCode, probed, startDebuggable } from '../live/live-code.ts'
import { added, filesOf, mappedFiles, threadDump, threadNames, until } from '../live/remains.ts'
import { type JavaProcess, startJava, temporaryDirectory } from '../support/java-process.ts'
import { forEachJdk, type Jdk, newest } from '../support/jdks.ts'
import { startJfluid, startRecording } from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'
import { type Outcome, times, trials } from './trials.ts'

/** A part of the program takes a tenth of a second by itself. Silent for longer than this, it hangs. */
const SILENT_MS = 60_000

/** They call probes, and stay: the runtime, and the agent that is asleep. */
const OURS = /^L(java\/lang\/JFluid1|jfluid\/)/

/** Together with `--jdk`. */
const MODES = [
  ['--scheme', 'a'],
  ['--scheme', 'b'],
  ['--follow-threads'],
  ['--waits'],
  ['--mode', 'locks'],
  ['--mode', 'count'],
  ['--mode', 'bytecodes'],
  ['--mode', 'alloc'],
  ['--mode', 'alloc', '--liveness'],
  ['--mode', 'sample', '--every', '1ms'],
  ['--mode', 'sample', '--every', '1000bc'],
  ['--call-sites'],
  ['--max-overhead', '5'],
  ['--error-bars'],
  ['--slow', 'p99'],
  ['--trace', '3'],
  ['--rare', 'watch'],
  ['--region', 'every.Main.part'],
] as const

/** What a mode is given besides: a region is no root, and leads nowhere. */
function withRoot(root: string, flags: readonly string[]): readonly string[] {
  return flags[0] === '--region' ? flags : ['--root', root, '--jdk', ...flags]
}

interface Told {
  readonly out: string
  /** What it says on its standard error, without what others say there. */
  readonly err: string
  readonly code: number | null
}

const told = (p: JavaProcess, code: number | null): Told => ({
  out: p.stdout(),
  err: p
    .stderr()
    .split('\n')
    .filter((line) => line.startsWith('err: '))
    .join('\n'),
  code,
})

/** What differs, a line each. */
function differences(found: Told, alone: Told): string[] {
  const lines = (text: string) => text.split('\n')
  const wrong = lines(alone.out).flatMap((line, i) => {
    const other = lines(found.out)[i]
    return other === line ? [] : [`it printed ${JSON.stringify(other)} in place of ${JSON.stringify(line)}`]
  })
  if (lines(found.out).length > lines(alone.out).length) wrong.push('it printed more lines')
  if (found.err !== alone.err) wrong.push(`it said ${JSON.stringify(found.err)}`)
  return wrong
}

/** The exit status of the program, or of the client that passes it on. */
const ending = (found: Told, alone: Told): string[] =>
  found.code === alone.code ? [] : [`it ended with ${found.code}`]

/** Whether `over` comes before the program has been silent for too long. */
async function goesOn(p: JavaProcess, over: Promise<unknown>): Promise<boolean> {
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

async function hung(p: JavaProcess, jvm: number): Promise<Outcome> {
  const last = p.stdout().trimEnd().split('\n').at(-1)
  return { harm: [`it hung after ${last}\n${await threadDump(jvm)}`], profile: 'none', left: null }
}

const alones = new Map<Jdk, Promise<Told>>()

/** As the program is by itself. */
function alone(jdk: Jdk): Promise<Told> {
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

/** The JVM that `jfluid run` has started. */
function childOf({ pid }: JavaProcess): number {
  return Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ')[0])
}

/** Whether there is a profile, and something in it. */
async function isKept(file: string): Promise<Outcome['profile']> {
  if (!existsSync(file)) return 'lost'
  const { events } = await readProfile(file)
  return events.count > 0 ? 'kept' : 'lost'
}

async function fromTheStart(jdk: Jdk, flags: readonly string[]): Promise<Outcome> {
  const first = await once(jdk, flags)
  // main() waits for ten seconds: on a busy machine a client may be ready later, and records nothing.
  const found = first ?? (await once(jdk, flags))
  if (found !== null) return found
  const wrong = FULL ? ['the program had ended twice before there was anything to record'] : []
  return { harm: [], wrong, profile: 'none', left: null }
}

/** @returns null if the program had ended before there was anything to record */
async function once(jdk: Jdk, flags: readonly string[]): Promise<Outcome | null> {
  const classes = await compileEverything(jdk)
  const file = join(temporaryDirectory(), 'p.jfluid')
  const options = [...withRoot('every.Main.main', flags), '--record', file]
  const begun = performance.now()
  const p = startJfluid('run', ...options, '--', jdk.java, '-cp', classes, 'every.Main', 'run')
  if (!(await goesOn(p, p.exit))) return hung(p, childOf(p))
  const ms = performance.now() - begun
  const found = told(p, (await p.exit).code)
  const harm = differences(found, await alone(jdk))
  const wrong = ending(found, await alone(jdk))
  const [problems] = [harm, wrong].filter((all) => all.length > 0)
  problems?.push(p.stderr())
  if (problems === undefined && /before anything was recorded/.test(p.stderr())) return null
  return { harm, wrong, profile: await isKept(file), left: filesOf(p.pid, p.pid), ms: { all: ms } }
}

forEachJdk((jdk) => {
  const only = FULL ? MODES : MODES.slice(0, jdk === newest ? 1 : 0)
  it.each(only.map((flags) => [flags.join(' '), flags] as const))(
    'from the start, with %s: what it prints is the same, and it ends as it would',
    { timeout: 3_600_000 },
    async (name, flags) => {
      await trials(`\`run --jdk ${name}\`, root \`main\``, jdk, times(1, 3), () => fromTheStart(jdk, flags))
      expect((await alone(jdk)).code).toBe(7)
    },
  )

  describe.runIf(FULL)('attached to', () => {
    it('all modes one after the other: the same each time, and all code is its own afterwards', {
      timeout: 3_600_000,
    }, async () => {
      const { java, jvm } = await startDebuggable(jdk, ['-cp', await compileEverything(jdk), 'every.Main'])
      let asked = 0
      const run = async (): Promise<string | null> => {
        const from = java.stdout().length
        java.send('run')
        return (await goesOn(java, java.line(/^done/, ++asked))) ? java.stdout().slice(from) : null
      }
      const first = await run()
      let settled: string[] | null = null
      await trials('`attach --jdk`, each mode in turn', jdk, times(1, 2) * MODES.length, async (_, n) => {
        const flags = MODES[n % MODES.length]!
        const recording = startRecording(java.pid, ...withRoot('every.Main.part', flags))
        await recording.started
        const text = await run()
        if (text === null) return hung(java, java.pid)
        await recording.end()
        const profile = await isKept(recording.file)
        // On a busy machine the client has left before thousands of classes have their code back.
        await until(async () => !(await threadNames(java.pid)).some((name) => name.startsWith('jfluid-')))
        const harm =
          text === first ? [] : [`with ${flags.join(' ')} it printed\n${text}\nin place of\n${first}`]
        // What stays of us for ever is there after the first session.
        settled ??= mappedFiles(java.pid)
        const left = [
          ...probed(await liveCode(jvm, 'L')).filter((it) => !OURS.test(it)),
          ...added(settled, mappedFiles(java.pid)).filter((it) => /jfluid/.test(it)),
          ...filesOf(java.pid, recording.process.pid).filter((it) => !it.includes('.java_pid')),
        ]
        return { harm, profile, left }
      })
      await jvm.dispose()
    })

    it.each(['here', 'other', 'halt', 'hook', 'cleaner', 'finaliser', 'uncaught'])(
      'it leaves from inside the root (%s): its hooks run, and it ends as it would',
      { timeout: 3_600_000 },
      async (how) => {
        const classes = await compileEverything(jdk)
        const leave = async (profiled: boolean) => {
          const java = startJava(jdk, ['-cp', classes, 'every.Main'])
          await java.line(/^ready/)
          const recording = profiled
            ? startRecording(java.pid, '--root', 'every.Main.leave', '--root', 'every.Main.hook', '--jdk')
            : null
          await recording?.started
          java.send(`leave ${how}`)
          if (!(await goesOn(java, java.exit))) return { hung: await hung(java, java.pid) }
          await recording?.process.exit
          const profile = recording === null ? 'none' : await isKept(recording.file)
          const left = filesOf(java.pid, ...(recording === null ? [] : [recording.process.pid]))
          return { found: told(java, (await java.exit).code), profile, left } as const
        }
        const { found: expected } = await leave(false)
        await trials(`\`System.exit\` inside everything, ${how}`, jdk, times(1, 10), async () => {
          const { hung: problem, found, profile, left } = await leave(true)
          if (found === undefined) return problem
          return { harm: [...differences(found, expected!), ...ending(found, expected!)], profile, left }
        })
      },
    )
  })
})
