// jfluid gate and --reproducible on examples/02-gate, as described in its README.

import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { inProcess } from '../support/in-process.ts'
import { compileJava, startProcess, temporaryDirectory } from '../support/java-process.ts'
import { newestOrAll } from '../support/jdks.ts'
import { cli, jfluid } from '../support/jfluid.ts'
import { itInFull } from '../support/only-if.ts'
import { problemsOf } from '../support/schema.ts'

const source = join(import.meta.dirname, '../../examples/02-gate/src')

describe.each(newestOrAll)('jfluid gate with JDK $version', (jdk) => {
  let program: string[]
  let baseline: string
  const record = async (file: string, mode: string, ...args: string[]) => {
    const flags = ['--root', 'Index.build', '--mode', mode, '--reproducible', '--record', file]
    const ran = await jfluid('run', ...flags, '--', ...program, ...args)
    expect(ran.code, ran.stderr).toBe(0)
  }

  beforeAll(async () => {
    program = [jdk.java, '-cp', await compileJava(jdk, source), 'Index']
    baseline = join(temporaryDirectory('jfluid-gate-'), 'baseline.jfluid')
    await record(baseline, 'bytecodes')
  })

  it('two runs of a program create identical files and pass the gate without tolerance', async () => {
    const again = join(temporaryDirectory('jfluid-gate-'), 'again.jfluid')
    await record(again, 'bytecodes')
    expect(readFileSync(again).equals(readFileSync(baseline))).toBe(true)
    const ran = await inProcess('gate', baseline, again)
    expect(ran.code, ran.stderr).toBe(0)
    expect(ran.stdout).toMatch(/^per call {2}0\.00 %$/m)
  })

  it('gate passes for the same program, keeps no file, and its JSON contains no output of the program', async () => {
    const temporary = temporaryDirectory('jfluid-gate-')
    const gate = [process.execPath, cli, 'gate', baseline, '--json', '--', ...program]
    const ran = startProcess('env', [`TMPDIR=${temporary}`, ...gate])
    expect((await ran.exit).code, ran.stderr()).toBe(0)
    expect(readdirSync(temporary)).toEqual([])
    expect(JSON.parse(ran.stdout())).toMatchObject({
      passed: true,
      growth: 0,
      methods: [],
      rootCallsAfter: 1,
    })
    expect(ran.stderr()).toContain('words found')
  })

  itInFull('a profile is refused as a baseline if a root call had not ended', async () => {
    const source =
      'class Exits { static void root() { System.exit(0); } public static void main(String[] a) { root(); } }'
    const classes = await compileJava(jdk, { Exits: source })
    const file = join(temporaryDirectory('jfluid-gate-'), 'exits.jfluid')
    const flags = ['--root', 'Exits.root', '--mode', 'bytecodes', '--record', file]
    const ran = await jfluid('run', ...flags, '--', jdk.java, '-cp', classes, 'Exits')
    expect(ran.code, ran.stderr).toBe(0)
    expect(ran.stderr).toContain('unfinished calls: 1; ')
    const refused = await inProcess('gate', file, file)
    expect(refused).toMatchObject({ code: 65 })
    expect(refused.stderr).toContain('the baseline does not contain all calls: 1 call had not ended')
  })

  itInFull(
    'gate exits with 82, names the method, and keeps the new profile, if the program does more work',
    async () => {
      const ran = await jfluid('gate', baseline, '--tolerance', '0.5%', '--', ...program, '2000', 'linear')
      expect(ran.code).toBe(82)
      expect(ran.stderr).toMatch(
        /one call of the root costs .* % more bytecodes than in the baseline, and 0\.50 % are allowed/,
      )
      expect(ran.stdout).toMatch(/^ {2}\+\d.* {2}Index\.scan\(Ljava\/lang\/String;\)Z /m)
      const [, now] = /jfluid compare \S+ (\S+) --top 0\./.exec(ran.stderr)!
      const compared = await inProcess('compare', baseline, now!)
      expect(compared.code, compared.stderr).toBe(0)
      expect(compared.stdout).toMatch(/^ +\+[\d,.]+M? .* {2}Index\.scan$/m)
      rmSync(dirname(now!), { recursive: true })
    },
  )

  itInFull(
    'gate accepts a second profile instead of a command, and the tolerance applies only to increases',
    async () => {
      const more = join(temporaryDirectory('jfluid-gate-'), 'more.jfluid')
      await record(more, 'bytecodes', '2100')
      const strict = await inProcess('gate', baseline, more, '--json')
      expect(strict.code).toBe(82)
      expect(problemsOf('gate', strict.stdout)).toEqual([])
      const found = JSON.parse(strict.stdout) as { growth: number; passed: boolean }
      expect(found).toMatchObject({ command: 'gate', passed: false, unit: 'bytecodes' })
      const ceiling = `${(found.growth * 100 + 0.01).toFixed(4)}%`
      expect((await inProcess('gate', baseline, more, '--tolerance', ceiling)).code).toBe(0)
      expect((await inProcess('gate', more, baseline)).code).toBe(0)
    },
  )

  itInFull('gate reports profiles that cannot be compared', async () => {
    const counted = join(temporaryDirectory('jfluid-gate-'), 'counted.jfluid')
    await record(counted, 'count')
    const other = await inProcess('gate', baseline, counted)
    expect(other).toMatchObject({ code: 65 })
    expect(other.stderr).toContain('the baseline counts bytecodes (default blocks), the other profile calls')
    const nothing = await inProcess('gate', baseline)
    expect(nothing).toMatchObject({ code: 64 })
    const failed = await jfluid('gate', baseline, '--', ...program, 'many')
    expect(failed.code).toBe(1) // exit code of the program
    const times = await inProcess('run', '--root', 'Index.build', '--reproducible', '--', ...program)
    expect(times).toMatchObject({ code: 64 })
    expect(times.stderr).toContain('times differ from run to run')
    const idle = await inProcess('run', '--root', 'Index.build', '--bba', 'precise', '--', ...program)
    expect(idle).toMatchObject({ code: 64 })
    const missing = ['--mode', 'bytecodes', '--bba', './no-such.mjs']
    expect(await inProcess('run', '--root', 'Index.build', ...missing, '--', ...program)).toMatchObject({
      code: 66,
    })
  })
})
