// --mode sample without a root: the whole JVM, by its own flight recorder or by dumps of its threads, and nothing is left
// running in it.

import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { agentProperties } from '../../src/attach/command.ts'
import {
  recordings,
  startRecording as startAnother,
  stopRecording,
} from '../../src/attach/flight-recorder.ts'
import { type AttachConnection, openAttachSocket } from '../../src/attach/handshake.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { type JavaProcess, startJava, temporaryDirectory } from '../support/java-process.ts'
import { type Jdk, jdks } from '../support/jdks.ts'
import {
  type JsonNode,
  type JsonProfile,
  jfluid,
  readProfileJson,
  startRecording,
  stderrLine,
} from '../support/jfluid.ts'

/** What does not depend on the JDK is shown on the newest, and with JFLUID_FULL=1 on all. */
const FULL = process.env.JFLUID_FULL === '1'
const onNewest = (jdk: Jdk) => it.runIf(FULL || jdk === jdks.at(-1))

/** Its own end removes what its flight recorder has left; being killed does not. */
async function quit(java: JavaProcess): Promise<void> {
  java.child.stdin?.end()
  await java.exit
}

const SAMPLE = ['--mode', 'sample'] as const

/** Samples below all nodes of that name, and of their own. */
function samplesIn(nodes: readonly JsonNode[], method: string): number {
  return nodes.reduce(
    (sum, it) => sum + (it.method === method ? it.totalSamples! : samplesIn(it.children, method)),
    0,
  )
}

function depthOf(nodes: readonly JsonNode[], method: string): number {
  return Math.max(0, ...nodes.map((it) => (it.method === method ? 1 : 0) + depthOf(it.children, method)))
}

function addsUp(node: JsonNode): boolean {
  const below = node.children.reduce((sum, child) => sum + child.totalSamples!, 0)
  return node.totalSamples === node.selfSamples! + below && node.children.every(addsUp)
}

function busyThread({ threads }: JsonProfile): JsonNode[] {
  const found = threads.filter(({ name }) => name === 'busy')
  expect(found.length).toBe(1)
  return found[0].roots
}

const repositories = (pid: number): string[] =>
  readdirSync('/tmp').filter((name) => /^\d{4}_/.test(name) && name.endsWith(`_${pid}`))

describe.each(jdks)('JDK $version', (jdk) => {
  let classes: string
  let java: JavaProcess
  let connection: AttachConnection
  const record = async (duration: string, ...flags: string[]): Promise<JsonProfile> => {
    const file = join(temporaryDirectory('jfluid-jvm-'), 'p.jfluid')
    const ran = await jfluid(
      'record',
      `${java.pid}`,
      ...SAMPLE,
      '--duration',
      duration,
      '--out',
      file,
      ...flags,
    )
    expect(ran.code, ran.stderr).toBe(0)
    return readProfileJson(file)
  }

  beforeAll(async () => {
    classes = await compileFixture(jdk, 'Sampled')
    java = startJava(jdk, ['-cp', classes, 'fix.Sampled'])
    await java.line(/^ready/)
    connection = await openAttachSocket(java.pid)
  })
  afterAll(() => quit(java))

  it('the flight recorder finds where the time goes, and its recording ends with ours', async () => {
    const profile = await record('2s')
    expect(profile).toMatchObject({
      mode: 'sample',
      sampling: { every: 10_000_000, unit: 'ns', by: 'jfr' },
      roots: [],
      target: { pid: java.pid, jdk: jdk.full, mainClass: 'fix.Sampled' },
      instrumentation: { instrumentedMethods: 0, redefinitions: 0, gaps: 0, healed: 0 },
      truncated: false,
      warnings: [],
    })
    const busy = busyThread(profile)
    const all = samplesIn(busy, 'serve')
    expect(all).toBeGreaterThan(20)
    expect(profile.merged.every(addsUp)).toBe(true)
    expect(profile.merged.reduce((sum, it) => sum + it.totalSamples!, 0)).toBe(profile.events.count)
    // Three quarters, of some hundred samples.
    expect(samplesIn(busy, 'heavy') / all).toBeGreaterThan(0.5)
    expect(samplesIn(busy, 'light') / all).toBeGreaterThan(0.05)
    expect(depthOf(busy, 'down')).toBe(101)
    expect(await recordings(connection)).toEqual([])
    // No agent of ours has come in.
    expect([...(await agentProperties(connection)).keys()].filter((it) => it.includes('jfluid'))).toEqual([])
  })

  onNewest(jdk)("another's recording goes on, and the profile says that there is one", async () => {
    const settings = ['jdk.ExecutionSample#enabled=true', 'jdk.ExecutionSample#period=100ms']
    await startAnother(connection, { name: 'others', settings, durationSeconds: 60, keptSeconds: 60 })
    const profile = await record('1s')
    expect(profile.warnings).toEqual([expect.stringContaining('records for others, too (others)')])
    expect(samplesIn(busyThread(profile), 'serve')).toBeGreaterThan(0)
    expect(await recordings(connection)).toEqual(['others'])
    expect(await stopRecording(connection, 'others')).toBe(true)
  })

  onNewest(jdk)('dumps of all threads find the same', async () => {
    const profile = await record('1s', '--sampler', 'stacks')
    expect(profile.sampling).toEqual({ every: 10_000_000, unit: 'ns', by: 'stacks' })
    const busy = busyThread(profile)
    expect(samplesIn(busy, 'serve')).toBeGreaterThan(5)
    expect(depthOf(profile.merged, 'waitForReferencePendingList')).toBe(0)
  })

  it('CPU time is sampled where the JDK can', async () => {
    if (jdk.version < 25) {
      const ran = await jfluid('record', `${java.pid}`, ...SAMPLE, '--sampler', 'cpu', '--out', '/dev/null')
      expect(ran.code).toBe(69)
      expect(ran.stderr).toContain(
        `cannot sample by CPU time: that came with JDK 25, and this is ${jdk.full}`,
      )
      return
    }
    const profile = await record('2s', '--sampler', 'cpu', '--every', '5ms')
    expect(profile.sampling).toEqual({ every: 5_000_000, unit: 'ns', by: 'cpu' })
    const all = samplesIn(busyThread(profile), 'serve')
    expect(all).toBeGreaterThan(20)
    expect(samplesIn(busyThread(profile), 'heavy') / all).toBeGreaterThan(0.5)
  })

  onNewest(jdk)('a JVM that is killed leaves what was recorded, and no repository', async () => {
    const own = startJava(jdk, ['-cp', classes, 'fix.Sampled'])
    await own.line(/^ready/)
    const file = join(temporaryDirectory('jfluid-jvm-'), 'p.jfluid')
    const recording = startRecording(own.pid, ...SAMPLE, '--out', file)
    await stderrLine(recording.process, /^sampling/)
    expect(repositories(own.pid).length).toBe(1)
    await own.kill()
    const { code } = await recording.process.exit
    expect(code).toBe(74)
    expect(recording.process.stderr()).toContain(`JVM ${own.pid} ended before the recording did`)
    expect(existsSync(file)).toBe(true)
    expect(repositories(own.pid)).toEqual([])
  })

  it('run samples a program until it ends, and passes its status on', async () => {
    const file = join(temporaryDirectory('jfluid-jvm-'), 'p.jfluid')
    const program = [jdk.java, '-cp', classes, 'fix.Sampled', '3']
    const ran = await jfluid('run', ...SAMPLE, '--record', file, '--', ...program)
    expect(ran.code, ran.stderr).toBe(0)
    const profile = await readProfileJson(file)
    expect(samplesIn(busyThread(profile), 'serve')).toBeGreaterThan(5)
    expect(profile.truncated).toBe(false)
    const report = await jfluid('report', file)
    expect(report.stdout).toMatch(/^recorded {2}.*nothing is instrumented$/m)
    expect(report.stdout).toMatch(
      /^measured {2}a sample every 10 ms, of the whole JVM, by its flight recorder$/m,
    )
    expect(report.stdout).not.toMatch(/^(root|calls|removed|overhead|memory)/m)
  })
})

it('without a flight recorder there is an error with advice, and dumps', async () => {
  const [jdk] = jdks.slice(-1)
  const classes = await compileFixture(jdk, 'Sampled')
  const java = startJava(jdk, ['-XX:-FlightRecorder', '-cp', classes, 'fix.Sampled'])
  await java.line(/^ready/)
  const file = join(temporaryDirectory('jfluid-jvm-'), 'p.jfluid')
  const ran = await jfluid('record', `${java.pid}`, ...SAMPLE, '--out', file)
  expect(ran.code).toBe(78)
  expect(ran.stderr).toContain(`JVM ${java.pid} has no flight recorder: Flight Recorder is disabled.`)
  const dumps = await jfluid(
    'record',
    `${java.pid}`,
    ...SAMPLE,
    '--sampler',
    'stacks',
    '--duration',
    '500ms',
    '--out',
    file,
  )
  expect(dumps.code, dumps.stderr).toBe(0)
})
