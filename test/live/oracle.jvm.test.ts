// jfluid and the JDK's debugger count the same programs. They share no code, so equal trees verify both.

import { join } from 'node:path'
import { expect, it } from 'vitest'
import { compileFixture, compileShop } from '../fixtures/fixtures.ts'
import { countCalls } from '../oracle/oracle.ts'
import { temporaryDirectory } from '../support/java-process.ts'
import { forOldestJdk, type Jdk } from '../support/jdks.ts'
import { callsByPath, type JsonProfile, lines, readProfileJson, startJfluid } from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'

interface Program {
  classpath: string
  mainClass: string
  args: readonly string[]
  root: string
  send: readonly string[]
}

/** Maximum number of runs of a program. */
const RUNS = 3

/**
 * Returns the calls per context of the program under `jfluid run`. The run is repeated if the session itself reports possible missing
 * calls, e.g. because the client had no processor for 250 ms.
 */
async function profiled(jdk: Jdk, program: Program, ...flags: string[]): Promise<Map<string, number>> {
  const told: unknown[] = []
  while (told.length < RUNS) {
    const { instrumentation, merged, warnings } = await run(jdk, program, ...flags)
    if (instrumentation.gaps === 0) return callsByPath(merged)
    told.push({ gaps: instrumentation.gaps, warnings })
  }
  throw new Error(`each session had gaps: ${JSON.stringify(told)}`)
}

async function run(jdk: Jdk, program: Program, ...flags: string[]): Promise<JsonProfile> {
  const { classpath, mainClass, args, root, send } = program
  const file = join(temporaryDirectory(), 'p.jfluid')
  const p = startJfluid(
    ...['run', '--root', root, '--record', file, ...flags],
    ...['--', jdk.java, '-cp', classpath, mainClass, ...args],
  )
  for (const line of send) p.send(line)
  p.child.stdin?.end()
  const { code } = await p.exit
  expect(code, p.stderr()).toBe(0)
  return readProfileJson(file)
}

forOldestJdk((jdk) => {
  const programs: [string, () => Promise<Program>, string[], 'a' | 'b'][] = [
    [
      'KnownTree',
      async () => ({
        classpath: await compileFixture(jdk, 'KnownTree'),
        ...{
          mainClass: 'fix.KnownTree',
          args: ['1', '3'],
          root: 'fix.KnownTree.task',
          send: ['run', 'quit'],
        },
      }),
      ['fix.*'],
      'a',
    ],
    [
      'Throws',
      async () => ({
        classpath: await compileFixture(jdk, 'Throws'),
        ...{ mainClass: 'fix.Throws', args: ['4'], root: 'fix.Throws.root', send: ['run', 'quit'] },
      }),
      ['fix.*'],
      'b',
    ],
    [
      "the shop's self-check",
      async () => ({
        classpath: await compileShop(jdk),
        ...{ mainClass: 'shop.Main', args: ['--selfcheck', '2'], root: 'shop.SelfCheck.run', send: [] },
      }),
      ['shop.*'],
      'b',
    ],
  ]

  it.each(FULL ? programs : programs.slice(0, 2))(
    '%s: the counts of all calling contexts equal the counts of the debugger',
    async (_, prepare, include, scheme) => {
      const program = await prepare()
      const oracle = await countCalls({ jdk, ...program, include })
      expect(oracle.contexts.size).toBeGreaterThan(20)
      for (const it of FULL ? ['a', 'b'] : [scheme]) {
        expect(lines(await profiled(jdk, program, '--scheme', it)), `scheme ${it}`).toEqual(
          lines(oracle.contexts),
        )
      }
    },
  )
})
