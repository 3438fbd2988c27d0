// The output of each command with --json conforms to the schema of the command in docs/schema.

import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { JSON_VERSIONS, type JsonCommand } from '../../src/profile/command-json.ts'
import { compileJava, type JavaProcess, temporaryDirectory } from '../support/java-process.ts'
import { forNewestJdk } from '../support/jdks.ts'
import { jfluid, type Ran, startRecording } from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'
import { problemsOf } from '../support/schema.ts'
import { SERVE, WAYS, WITH_PROBES } from './ways.ts'
import { quit, recordAtWork, startAtRest } from './whole-jvm-samples.ts'

const COMMANDS = Object.keys(JSON_VERSIONS) as JsonCommand[]
const ROOT = ['--root', SERVE]

/** Each call of the root calls step() as often as the argument says. */
const COUNTED = `
package fix;
public class Counted {
  static void step() {}
  static void run(int steps) { for (int i = 0; i < steps; i++) step(); }
  public static void main(String[] args) { for (int i = 0; i < 10; i++) run(Integer.parseInt(args[0])); }
}`

/** Recordings of times with all parts that only some options record. */
const WITH_MORE: readonly (readonly string[])[] = [
  ['--scheme', 'adaptive'],
  ['--scheme', 'a', '--trace', '2', '--slow', '1us', '--follow-threads'],
  ['--scheme', 'b', '--call-sites'],
]

forNewestJdk((jdk) => {
  let java: JavaProcess
  let counted: readonly string[]
  let directory: string

  beforeAll(async () => {
    java = await startAtRest(jdk)
    counted = ['--', jdk.java, '-cp', await compileJava(jdk, { 'fix/Counted.java': COUNTED }), 'fix.Counted']
    directory = temporaryDirectory('jfluid-json-')
  })

  afterAll(() => quit(java))

  const record = async (name: string, ...flags: string[]): Promise<string> => {
    const out = join(directory, `${name}.jfluid`)
    const ran = await recordAtWork(java, 'from the start', () => true, ...flags, '--out', out)
    expect(ran.code, ran.stderr).toBe(0)
    return out
  }

  /** Records calls of fix.Counted, whose root calls step() `steps` times. */
  const count = async (steps: number): Promise<string> => {
    const out = join(directory, `${steps}.jfluid`)
    const flags = ['--root', 'fix.Counted.run', '--mode', 'count', '--record', out]
    const ran = await jfluid('run', ...flags, ...counted, `${steps}`)
    expect(ran.code, ran.stderr).toBe(0)
    return out
  }

  /** Runs jfluid with --json. */
  const ask = (command: JsonCommand, ...words: string[]): Promise<Ran> => jfluid(command, '--json', ...words)
  const codes = (ran: readonly Ran[], ...expected: number[]): readonly Ran[] => {
    expect(
      ran.map(({ code }) => code),
      ran.map(({ stderr }) => stderr).join('\n'),
    ).toEqual(expected)
    return ran
  }

  /** Runs each command in all situations that change the structure of its output. */
  const RUNS: Readonly<Record<JsonCommand, () => Promise<readonly Ran[]>>> = {
    ps: async () => codes([await ask('ps')], 0),
    doctor: async () =>
      codes([await ask('doctor', `${java.pid}`), await ask('doctor', `${java.pid}`, ...ROOT)], 0, 0),
    async why() {
      java.send('w')
      const ran = await ask('why', `${java.pid}`, '--duration', '1s')
      java.send('r')
      return codes([ran], 0)
    },
    threads: async () => codes([await ask('threads', `${java.pid}`)], 0),
    async detach() {
      const nothing = await ask('detach', `${java.pid}`)
      const recording = startRecording(java.pid, ...ROOT)
      await recording.started
      const ended = await ask('detach', `${java.pid}`, '--force')
      await recording.process.exit
      return codes([nothing, ended], 0, 0)
    },
    async gate() {
      const baseline = await count(10)
      return codes(
        [await ask('gate', baseline, ...counted, '10'), await ask('gate', baseline, ...counted, '20')],
        ...[0, 82],
      )
    },
    async compare() {
      const [before, after] = [await count(10), await count(20)]
      const failing = ['--fail-if', 'root calls > 0', '--fail-if', 'Counted.step self > +10%']
      return codes(
        [await ask('compare', before, after), await ask('compare', before, after, ...failing)],
        0,
        82,
      )
    },
    async report() {
      const ran: Ran[] = []
      for (const [name, flags] of [
        ...WAYS,
        ...WITH_MORE.map((more) => [more.join(' '), [...ROOT, ...more]] as const),
      ]) {
        const file = await record(name.replaceAll(' ', '-'), ...flags)
        // Sampled stacks need not contain the method.
        const isCounted = WITH_PROBES.some(([way]) => way === name) && !flags.includes('--region')
        const callers = isCounted ? ['--back-traces', SERVE] : []
        ran.push(await ask('report', file, '--threads', ...callers))
      }
      return codes(ran, ...ran.map(() => 0))
    },
  }

  it.each(COMMANDS.filter((it) => FULL || it !== 'report'))(
    'the output of %s --json conforms to its schema',
    async (command) => {
      for (const { stdout } of await RUNS[command]()) expect(problemsOf(command, stdout), stdout).toEqual([])
    },
  )
})

it('a command with --json that fails before its output prints nothing on stdout, and the error on stderr', async () => {
  const { code, stdout, stderr } = await jfluid('report', '--json', '/nowhere/p.jfluid')
  expect([code, stdout]).toEqual([66, ''])
  expect(stderr).toMatch(/^jfluid: .+\n.+\n$/)
})
