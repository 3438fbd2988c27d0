// jfluid attaches to real programs and counts their calls. An independent agent, which is loaded at their start and rewrites every class,
// counts them as well. The counts must be equal in every context.
//
// The programs, and ASM for the other agent, come from Maven Central. The comparison of trees is tested in test/oracle/call-tree.test.ts.

import { afterAll, describe, expect, it } from 'vitest'
import { type Context, differences, methodsOf, rowsOf, sizeOf, treeOf } from '../oracle/call-tree.ts'
import {
  buildCountingAgent,
  type Counted,
  type CountingAgent,
  countCallsByAgent,
} from '../oracle/counting-agent.ts'
import { compileProgram, DRIVER, PROGRAMS, type Program, ROOT, vmOptions } from '../oracle/programs.ts'
import { startJava } from '../support/java-process.ts'
import { forEachJdk, type Jdk } from '../support/jdks.ts'
import { type JsonProfile, startRecording } from '../support/jfluid.ts'

interface Figures {
  readonly program: Program
  readonly jdk: Jdk
  readonly when: string
  readonly called: number
  readonly contexts: number
  readonly instrumented: Record<string, number>
  readonly redefinitions: Record<string, number>
  readonly gaps: Record<string, number>
  /** Number of contexts with different call counts. */
  readonly differing: Record<string, number>
}
const table: Figures[] = []

interface Case {
  /** Runs of the program before jfluid attaches. */
  readonly before: number
  readonly title: string
  /** Whether calls may be missing. The number of methods with missing calls must not exceed the number of gaps. */
  readonly mayMiss: boolean
}
// To define class A, the JVM may load class B, whose code may call methods of A before A is defined. A is instrumented after its definition
// and is reported as a gap, because its methods may have run before.
const CASES: readonly Case[] = [
  { before: 0, title: 'before its classes are loaded', mayMiss: true },
  { before: 1, title: 'after its classes are loaded', mayMiss: false },
]

async function profiled(jdk: Jdk, classpath: string, program: Program, the: Case, scheme: string) {
  const java = startJava(jdk, [...vmOptions(program), '-cp', classpath, DRIVER, `programs.${program.name}`])
  await java.line(/^ready$/)
  for (let i = 0; i < the.before; i++) {
    java.send('run')
    await java.line(/^done /, i + 1)
  }
  const recording = startRecording(java.pid, '--root', ROOT, '--scheme', scheme)
  await recording.started
  java.send('run')
  const said = await java.line(/^done /, the.before + 1)
  const profile = await recording.stop()
  await java.kill()
  return { profile, said }
}

forEachJdk((jdk) => {
  let built: Promise<CountingAgent> | undefined

  const programs = PROGRAMS.filter(({ newestJdk }) => newestJdk === undefined || jdk.version <= newestJdk)
  describe.each(programs.map((it) => [it.title, it] as const))(
    'counts of calls in the program %s',
    (_, program) => {
      let classpath: string
      let counted: Promise<[Counted, Counted]> | undefined
      const count = async (): Promise<Counted> => {
        built ??= buildCountingAgent(jdk)
        return countCallsByAgent(await built, {
          ...{ jdk, classpath, mainClass: DRIVER, args: [`programs.${program.name}`], root: ROOT },
          vmOptions: vmOptions(program),
          send: ['run', 'run', 'quit'],
        })
      }
      const countTwice = async (): Promise<[Counted, Counted]> => [await count(), await count()]

      const cases = CASES.filter((it) => it.before > 0 || program.firstRunVaries === undefined)
      it.each(cases.map((it) => [it.title, it] as const))(
        'a program profiled %s has exact counts in every context',
        { timeout: 600_000 },
        async (_, the) => {
          classpath ??= await compileProgram(jdk, program)
          counted ??= countTwice()
          const [one, two] = await counted
          expect(one.failed).toEqual([])
          const whole = treeOf(one.runs[the.before])
          expect(differences(whole, treeOf(two.runs[the.before]))).toEqual([])
          const figures: Figures = {
            ...{
              program,
              jdk,
              when: the.title,
              instrumented: {},
              redefinitions: {},
              gaps: {},
              differing: {},
            },
            ...{ called: methodsOf(whole).size, contexts: sizeOf(whole) },
          }
          const skip = (method: string) => program.notCompared?.methods.test(method) ?? false
          for (const scheme of ['a', 'b']) {
            const { profile, said } = await profiled(jdk, classpath, program, the, scheme)
            expect(one.stdout).toContain(said)
            const found = treeOf(rowsOf(profile.merged), skip)
            const expected = treeOf(one.runs[the.before], skip)
            compare(expected, found, profile, the.mayMiss)
            figures.gaps[scheme] = profile.instrumentation.gaps
            figures.differing[scheme] = differences(expected, found).length
            figures.instrumented[scheme] = profile.instrumentation.instrumentedMethods
            figures.redefinitions[scheme] = profile.instrumentation.redefinitions
          }
          table.push(figures)
        },
      )
    },
  )
})

function compare(expected: Context, found: Context, profile: JsonProfile, mayMiss: boolean): void {
  const [calls, ours] = [methodsOf(expected), methodsOf(found)]
  const { scheme, truncated, instrumentation } = profile
  const missed = [...calls].filter(([method]) => !ours.has(method)).map(([method, n]) => `${method} ${n}`)
  const differing = [...calls].flatMap(([method, n]) => {
    const m = ours.get(method)
    return m === undefined || m === n ? [] : [`${method} ${n} found ${m}`]
  })
  const extra = [...ours].filter(([method]) => !calls.has(method)).map(([method, n]) => `${method} ${n}`)
  const contexts = differences(expected, found)
  expect.soft([scheme, truncated]).toEqual([scheme, false])
  if (mayMiss && instrumentation.gaps > 0) {
    const { gaps } = instrumentation
    for (const problem of [...missed, ...differing])
      console.info(`scheme ${scheme}, ${gaps} gaps: ${problem}`)
    expect.soft({ scheme, extra }).toEqual({ scheme, extra: [] })
    expect.soft(missed.length + differing.length).toBeLessThanOrEqual(gaps)
    return
  }
  expect
    .soft({ scheme, missed, differing, extra, contexts })
    .toEqual({ scheme, missed: [], differing: [], extra: [], contexts: [] })
}

afterAll(() => {
  if (table.length === 0) return
  const columns = ['', ' / called', ' redefinitions', ' gaps', ' differing']
  const head = ['program', 'JDK', 'attached', 'called', 'contexts']
  for (const scheme of ['A', 'B']) head.push(...columns.map((it) => `${scheme}${it}`))
  const lines = table.map((row) => {
    const { program, jdk, when, called, contexts, instrumented } = row
    const cells = [program.title, jdk.full, when, called, contexts]
    for (const scheme of ['a', 'b']) {
      const ratio = (instrumented[scheme] / called).toFixed(2)
      cells.push(
        instrumented[scheme],
        ratio,
        row.redefinitions[scheme],
        row.gaps[scheme],
        row.differing[scheme],
      )
    }
    return `| ${cells.join(' | ')} |`
  })
  console.info([`| ${head.join(' | ')} |`, `|${' --- |'.repeat(head.length)}`, ...lines].join('\n'))
})
