// Source lines: in samples of each kind, the line of `fix.Sampled.serve` that calls `heavy()` has about three quarters of the samples.

import { cpSync, mkdirSync, readFileSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { linesIn, type MethodLines } from '../../src/cct/line-samples.ts'
import { sessionOptions } from '../../src/commands/options.ts'
import { decodeProfile, encodeProfile } from '../../src/profile/file.ts'
import type { Profile } from '../../src/profile/profile.ts'
import { attachDoor } from '../../src/session/doors/door.ts'
import { JvmSampling } from '../../src/session/sampling/jvm-sampling.ts'
import { Session } from '../../src/session/session.ts'
import { type JavaProcess, temporaryDirectory } from '../support/java-process.ts'
import { forNewestJdk } from '../support/jdks.ts'
import { itInFull } from '../support/only-if.ts'
import { Terminal } from '../support/terminal.ts'
import { until } from './remains.ts'
import { BY_RECORDER, quit, startAtRest } from './whole-jvm-samples.ts'

const FIXTURE = fileURLToPath(new URL('../fixtures/Sampled.java', import.meta.url))
const SOURCE = readFileSync(FIXTURE, 'utf8').split('\n')
const lineOf = (text: string): number => SOURCE.indexOf(text) + 1
const HEAVY = lineOf('        heavy();')
const DOWN = lineOf('        down(100);')

/** Returns the lines of all methods with this name. */
function linesOf({ lines, methodNames }: Profile, method: string): MethodLines {
  const ids = methodNames.flatMap((it, id) =>
    it.class === 'fix.Sampled' && it.method === method ? [id] : [],
  )
  const [found] = ids.flatMap((id) => linesIn(lines!, id) ?? [])
  if (found === undefined) throw new Error(`no samples of ${method}`)
  return found
}

/** Number of samples with which the line of 75 % is first, except in one of 100,000 runs. */
const ENOUGH = 60
/** The system counts the start of a process from its own start, which it knows in seconds. */
const START_TOLERANCE_MS = 2_000
/** On a busy machine, scheme adaptive takes only a few samples per second, since it limits their cost. */
const SAMPLES_TIMEOUT_MS = 120_000

/** Returns the id of `serve` in the current snapshot; 0 if there is no such row. */
async function idOf(session: Session | JvmSampling): Promise<number> {
  const { merged } = await session.snapshot(false)
  return merged.method.find((it) => session.methodName(it).method === 'serve') ?? 0
}

forNewestJdk((jdk) => {
  describe(`samples per source line, JDK ${jdk.version}`, () => {
    let java: JavaProcess
    let folder: string
    let startedAt: number

    beforeAll(async () => {
      startedAt = Date.now()
      java = await startAtRest(jdk)
      const project = temporaryDirectory('jfluid-project-')
      folder = join(project, 'src', 'main', 'java', 'fix')
      mkdirSync(folder, { recursive: true })
      cpSync(FIXTURE, join(folder, 'Sampled.java'), { preserveTimestamps: true })
    })
    afterAll(() => quit(java))

    /** Records until the line shares of `serve` are accurate enough, and returns the lines from the profile's file. */
    async function sampled(
      session: Session | JvmSampling,
      leave: () => Promise<unknown>,
    ): Promise<MethodLines> {
      java.send('w')
      try {
        await until(async () => (session.linesOf(await idOf(session))?.samples ?? 0) >= ENOUGH)
        await leave()
      } finally {
        java.send('r')
      }
      const profile = await session.profile()
      const jvmStartedAt = Date.parse(profile.jvmStartedAt ?? '')
      expect(jvmStartedAt).toBeLessThan(Date.parse(profile.startedAt))
      expect(jvmStartedAt).toBeGreaterThan(startedAt - START_TOLERANCE_MS)
      return linesOf(decodeProfile(encodeProfile(profile), 'p.jfluid'), 'serve')
    }

    function expectHeavyFirst({ lines }: MethodLines): void {
      // A rare sample can be at the closing brace, where the JVM checks for a safepoint.
      const [first, second] = [...lines].sort((a, b) => b.total - a.total)
      expect([first?.line, second?.line]).toEqual([HEAVY, DOWN])
    }

    it.each(['jfr', 'stacks'] as const)(
      'samples taken by %s show the line that takes most time',
      async (by) => {
        const session = await JvmSampling.start(java.pid, { sampling: { by } })
        expectHeavyFirst(await sampled(session, () => session.leave()))
      },
    )

    itInFull(
      'samples of scheme adaptive show the line that takes most time, and the lines of the root are read from its class file',
      async () => {
        const options = sessionOptions({ root: ['fix.Sampled.serve'], scheme: 'adaptive' })
        const session = await Session.start(await attachDoor(java.pid), options)
        const leave = async (): Promise<void> => {
          const place = { file: 'Sampled.java', lines: { from: HEAVY, to: DOWN + 1 } }
          expect(await session.placeOf(await idOf(session))).toEqual(place)
          await session.detach()
        }
        expectHeavyFirst(await sampled(session, leave))
        await session.close()
      },
      SAMPLES_TIMEOUT_MS,
    )

    /** Selects `serve` by search. After a reset, the tree is empty until the next samples, so the search is repeated. */
    async function select(terminal: Terminal): Promise<void> {
      let said = ''
      while (!said.endsWith('found')) {
        terminal.send('/serve')
        await terminal.until(
          (lines) => lines.at(-1)!.includes('/serve▏') && /fix\.Sampled\.serve/.test(lines.join('\n')),
        )
        terminal.send('\r')
        said = await terminal.until(
          (lines) => /"serve": \d+ found|no method here matches "serve"/.exec(lines.join('\n'))?.[0],
        )
      }
    }

    it('the source page of a live view shows the source text with the share of each line', async () => {
      java.send('w')
      const project = join(folder, '..', '..', '..', '..')
      const terminal = Terminal.jfluid(['attach', String(java.pid), ...BY_RECORDER, '--source', project])
      const shows = (what: RegExp) => terminal.until((lines) => what.test(lines.join('\n')))
      await shows(/fix\.Sampled\.serve/)
      await select(terminal)
      terminal.send('v')
      await shows(new RegExp(`\\d+\\.\\d +\\d+\\.\\d +${HEAVY} +heavy\\(\\);`))
      terminal.send('vq')
      await terminal.exit
      java.send('r')
    })

    itInFull(
      'the live view reports a source file that was changed after the JVM started and before the attach, also after a reset',
      async () => {
        java.send('w')
        utimesSync(join(folder, 'Sampled.java'), new Date(), new Date())
        const project = join(folder, '..', '..', '..', '..')
        const terminal = Terminal.jfluid(['attach', String(java.pid), ...BY_RECORDER, '--source', project])
        const shows = (what: RegExp) => terminal.until((lines) => what.test(lines.join('\n')))
        await shows(/fix\.Sampled\.serve/)
        for (const isReset of [false, true]) {
          if (isReset) {
            terminal.send('z')
            await shows(/all counts and times are reset to zero/)
          }
          // `select` may find the row in the tree from before the reset, and `v` may arrive when the empty tree is shown.
          let said: string | undefined
          while (said !== 'was changed') {
            await select(terminal)
            terminal.send('v')
            said = await terminal.until((lines) =>
              /this row is not a method|was\s+changed(?=\s+after\s+the\s+JVM\s+started)/
                .exec(lines.join('\n'))?.[0]
                .replace(/\s+/, ' '),
            )
          }
          terminal.send('\x1b')
          await terminal.until((lines) => !lines.join('\n').includes('Esc closes this page'))
        }
        terminal.send('q')
        await terminal.exit
        java.send('r')
      },
    )
  })
})
