// --mode sample: each thread samples itself after a number of bytecodes, or the JVM samples a root at time intervals.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { attachCommand } from '../../src/attach/command.ts'
import { openAttachSocket } from '../../src/attach/handshake.ts'
import { differenceByName } from '../../src/profile/changes.ts'
import { readProfile } from '../../src/profile/file.ts'
import { hotEdgesOf, overlapOf } from '../../src/profile/overlap.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { startJava, temporaryDirectory } from '../support/java-process.ts'
import { forNewestJdk, jdks, newest, newestOrAll } from '../support/jdks.ts'
import {
  type JsonNode,
  type JsonProfile,
  jfluid,
  readProfileJson,
  startRecording,
} from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'
import { itInFull } from '../support/only-if.ts'
import { pathsOf, runOdd } from './sampling-odd.ts'
import { BY_RECORDER, quit, recordAtWork, startAtRest } from './whole-jvm-samples.ts'

const ROOT = 'fix.Blocks.root'

function addsUp(node: JsonNode): boolean {
  const below = node.children.reduce((sum, child) => sum + child.totalSamples!, 0)
  return node.totalSamples === node.selfSamples! + below && node.children.every(addsUp)
}

const total = ({ merged }: JsonProfile, of: (node: JsonNode) => number | undefined): number =>
  merged.reduce((sum, node) => sum + (of(node) ?? Number.NaN), 0)

describe.each(newestOrAll)('sampling on JDK $version', (jdk) => {
  let classes: string
  const runFor = async (n: number, ...flags: string[]): Promise<string> => {
    const file = join(temporaryDirectory('jfluid-sampling-'), 'p.jfluid')
    const program = [jdk.java, '-cp', classes, 'fix.Blocks', 'run', String(n), '2']
    const ran = await jfluid('run', '--root', ROOT, '--record', file, ...flags, '--', ...program)
    expect(ran.code, ran.stderr).toBe(0)
    return file
  }
  const sample = (...flags: string[]) => ['--mode', 'sample', ...flags]

  beforeAll(async () => {
    classes = await compileFixture(jdk, 'Blocks')
  })

  it('--every 1bc records the same contexts and the same number of bytecodes as --mode bytecodes', async () => {
    const exact = await readProfileJson(await runFor(12, '--mode', 'bytecodes'))
    for (const scheme of FULL ? ['a', 'b'] : ['a']) {
      const flags = sample('--every', '1bc', '--random', '0', '--scheme', scheme)
      const sampled = await readProfileJson(await runFor(12, ...flags))
      expect(sampled.instrumentation).toMatchObject({ gaps: 0, healed: 0, skipped: [] })
      expect(sampled.sampling).toMatchObject({
        ...{ every: 1, unit: 'bytecodes', random: 0, by: 'probes' },
        bytecodes: total(exact, (node) => node.totalBytecodes),
      })
      // The counter is checked in every block with a call or return, so each call gets a sample.
      expect([...pathsOf(sampled)].sort()).toEqual([...pathsOf(exact)].sort())
      expect(sampled.merged.every(addsUp)).toBe(true)
      expect(total(sampled, (node) => node.totalSamples)).toBe(sampled.sampling!.samples)
      expect(sampled.warnings).toEqual([])
    }
  })

  itInFull('contexts are exact for a constructor whose super() throws and for nested roots', async () => {
    const exact = [...pathsOf(await runOdd(jdk, '--mode', 'count'))].sort()
    expect([...pathsOf(await runOdd(jdk, ...sample('--every', '1bc', '--random', '0')))].sort()).toEqual(
      exact,
    )
  })

  itInFull('two runs that use the same random numbers take the same samples', async () => {
    const flags = sample('--every', '50bc')
    const [one, other] = [await runFor(12, ...flags), await runFor(12, ...flags)]
    const [a, b] = [await readProfileJson(one), await readProfileJson(other)]
    expect(a.sampling!.samples).toBeGreaterThan(100)
    expect(JSON.stringify(a.merged)).toBe(JSON.stringify(b.merged))
    // With the same interval but without random variation, the samples differ.
    const constant = await readProfileJson(await runFor(12, ...flags, '--random', '0'))
    expect(JSON.stringify(constant.merged)).not.toBe(JSON.stringify(a.merged))
  })

  itInFull('--every 500bc yields almost the same profile as a count of all bytecodes', async () => {
    const n = 3000
    const [exact, sampled] = [
      await readProfile(await runFor(n, '--mode', 'bytecodes')),
      await readProfile(await runFor(n, ...sample('--every', '500bc'))),
    ]
    const difference = differenceByName(exact, sampled)
    expect(overlapOf(difference)).toBeGreaterThan(0.95)
    expect(hotEdgesOf(difference).coverage).toBeGreaterThan(0.9)
  })
})

it('samples of virtual threads have the correct stack on any carrier', async () => {
  const classes = await compileFixture(newest, 'Virtual')
  const java = startJava(newest, ['-cp', classes, 'fix.Virtual'])
  await java.line(/ready/)
  const root = ['--root', 'fix.Virtual.task']
  const run = async (...flags: string[]): Promise<JsonProfile> => {
    const recording = startRecording(java.pid, ...root, ...flags)
    await recording.started
    const before = java
      .stdout()
      .split('\n')
      .filter((line) => line.startsWith('done')).length
    java.send('run 20')
    await java.line(/^done/, before + 1)
    return recording.stop()
  }
  const exact = pathsOf(await run('--mode', 'count'))
  const sampled = await run('--mode', 'sample', '--every', '1bc', '--random', '0')
  expect([...pathsOf(sampled)].sort()).toEqual([...exact].sort())
  expect(sampled.instrumentation).toMatchObject({ gaps: 0, healed: 0 })
})

forNewestJdk((jdk) => {
  it('time sampling with a root uses samples of the JVM and installs no probes', async () => {
    const java = await startAtRest(jdk)
    const file = join(temporaryDirectory('jfluid-sampling-'), 'p.jfluid')
    const flags = ['--root', 'Sampled.down', '--mode', 'sample', '--every', '5ms', '--out', file]
    // Thread dumps use 1 % of the time at most, and the root runs for a quarter of the time.
    const ran = await recordAtWork(java, 'from the start', () => true, ...flags)
    expect(ran.code, ran.stderr).toBe(0)
    const { sampling, instrumentation, merged } = await readProfileJson(file)
    expect(sampling).toMatchObject({ unit: 'ns', by: jdk.version >= 23 ? 'jfr' : 'stacks' })
    expect(instrumentation).toMatchObject({ instrumentedMethods: 0, redefinitions: 0 })
    expect(merged.map(({ method }) => method)).toEqual(['down'])
    expect(merged.every(addsUp)).toBe(true)
    await quit(java)
  })

  it('--debug-info switches DebugNonSafepoints on, removes the compiler directive, and warns that the flag stays on', async () => {
    // Without this option, VM.flags does not list the flag, although jfluid switches it on.
    const java = await startAtRest(jdk, '-XX:+UnlockDiagnosticVMOptions')
    const connection = await openAttachSocket(java.pid)
    const answer = async (command: string) => (await attachCommand(connection, 'jcmd', [command])).text
    const isOn = async () => /DebugNonSafepoints += true/.test(await answer('VM.flags -all'))
    expect(await isOn()).toBe(false)
    const before = await answer('Compiler.directives_print')
    const file = join(temporaryDirectory('jfluid-sampling-'), 'p.jfluid')
    const ran = await recordAtWork(
      java,
      'from the start',
      () => true,
      ...BY_RECORDER,
      '--debug-info',
      '--out',
      file,
    )
    expect(ran.code, ran.stderr).toBe(0)
    expect(await isOn()).toBe(true)
    expect(await answer('Compiler.directives_print')).toBe(before)
    expect((await readProfileJson(file)).warnings).toContainEqual(
      expect.stringMatching(/keeps debug info of all code/),
    )
    expect(java.stdout() + java.stderr()).toMatch(/turning on DebugNonSafepoints/)
    await quit(java)
  })

  it('jfluid run with --debug-info starts the JVM with DebugNonSafepoints on', async () => {
    const file = join(temporaryDirectory('jfluid-sampling-'), 'p.jfluid')
    const program = [
      jdk.java,
      '-XX:+PrintFlagsFinal',
      '-cp',
      await compileFixture(jdk, 'Blocks'),
      'fix.Blocks',
      'run',
      '2000',
      '9',
    ]
    const ran = await jfluid('run', ...BY_RECORDER, '--debug-info', '--record', file, '--', ...program)
    expect(ran.stdout).toMatch(/DebugNonSafepoints += true/)
  })
})

it('--debug-info with thread dumps is refused, and no flag is changed', async () => {
  const java = await startAtRest(jdks[0], '-XX:-FlightRecorder')
  const file = join(temporaryDirectory('jfluid-sampling-'), 'p.jfluid')
  const ran = await jfluid('record', `${java.pid}`, '--mode', 'sample', '--debug-info', '--out', file)
  expect(ran.stderr).toMatch(/--debug-info works only with the flight recorder, and .* thread dumps\n/)
  expect([ran.code, existsSync(file)]).toEqual([64, false])
  expect(java.stdout() + java.stderr()).not.toMatch(/DebugNonSafepoints/)
  await quit(java)
})

it('--debug-info works in a JVM with locked diagnostic options', async () => {
  const java = await startAtRest(newest)
  const flags = [
    ...BY_RECORDER,
    '--debug-info',
    '--out',
    join(temporaryDirectory('jfluid-sampling-'), 'p.jfluid'),
  ]
  expect((await recordAtWork(java, 'from the start', () => true, ...flags)).code).toBe(0)
  expect(java.stdout() + java.stderr()).toMatch(/turning on DebugNonSafepoints/)
  await quit(java)
})

it('a root with parameters is refused if samples are thread dumps', async () => {
  const java = await startAtRest(jdks[0], '-XX:-FlightRecorder')
  const flags = ['--mode', 'sample', '--root', 'Sampled.down(int)']
  const file = join(temporaryDirectory('jfluid-sampling-'), 'p.jfluid')
  const ran = await jfluid('record', `${java.pid}`, ...flags, '--out', file)
  expect(ran.stderr).toMatch(
    /root 'Sampled\.down\(int\)' has parameters, which thread dumps do not contain: /,
  )
  expect([ran.code, existsSync(file)]).toEqual([64, false])
  await quit(java)
})
