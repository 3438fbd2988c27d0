// --mode sample without a root: the whole JVM is sampled by its flight recorder or by thread dumps, and no recording is left running.

import { existsSync, readdirSync, statfsSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { agentProperties, attachCommand } from '../../src/attach/command.ts'
import {
  recorderSetup,
  recordings,
  startRecording as startAnother,
  stopRecording,
} from '../../src/attach/flight-recorder.ts'
import { type AttachConnection, openAttachSocket } from '../../src/attach/handshake.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { STATUS } from '../support/exit-codes.ts'
import { type JavaProcess, startProcess, temporaryDirectory } from '../support/java-process.ts'
import { forJdks, forNewestJdk, newest, newestOrAll } from '../support/jdks.ts'
import {
  type JsonNode,
  type JsonProfile,
  jfluid,
  readProfileJson,
  startJfluid,
  startRecording,
  stderrLine,
} from '../support/jfluid.ts'
import { itInFull, itOnlyIf } from '../support/only-if.ts'
import {
  BY_RECORDER,
  busyThread,
  KEPT,
  quit,
  recordAtWork,
  SAMPLE,
  samplesIn,
  startAtRest,
} from './whole-jvm-samples.ts'

function depthOf(nodes: readonly JsonNode[], method: string): number {
  return Math.max(0, ...nodes.map((it) => (it.method === method ? 1 : 0) + depthOf(it.children, method)))
}

/** Expects a recursion of depth 101. For an inlined recursion the JVM sometimes reports a frame twice. */
function expectWhole(depth: number): void {
  expect(depth).toBeGreaterThanOrEqual(101)
  expect(depth).toBeLessThanOrEqual(102)
}

function addsUp(node: JsonNode): boolean {
  const below = node.children.reduce((sum, child) => sum + child.totalSamples!, 0)
  return node.totalSamples === node.selfSamples! + below && node.children.every(addsUp)
}

/** Number of samples in which shares differ from the known shares by less than 20 points, except in one of a million runs. */
const ENOUGH = 100
const hasEnough = ({ merged }: JsonProfile): boolean => samplesIn(merged, 'serve') >= ENOUGH
const isServed = ({ merged }: JsonProfile): boolean => samplesIn(merged, 'serve') > 0

const repositories = (pid: number): string[] =>
  readdirSync('/tmp').filter((name) => /^\d{4}_/.test(name) && name.endsWith(`_${pid}`))

describe.each(newestOrAll)('whole-JVM sampling of one program, JDK $version', (jdk) => {
  let java: JavaProcess
  let connection: AttachConnection
  const record = async (
    enough: string | ((profile: JsonProfile) => boolean),
    ...flags: string[]
  ): Promise<JsonProfile> => {
    const file = join(temporaryDirectory('jfluid-jvm-'), 'p.jfluid')
    const ran = await recordAtWork(java, 'while it records', enough, ...BY_RECORDER, '--out', file, ...flags)
    expect(ran.code, ran.stderr).toBe(0)
    return await readProfileJson(file)
  }

  beforeAll(async () => {
    java = await startAtRest(jdk)
    connection = await openAttachSocket(java.pid)
  })
  afterAll(() => quit(java))

  it('the flight recorder finds the hot methods, and its recording ends with the session', async () => {
    const profile = await record(hasEnough)
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
    expect(profile.merged.every(addsUp)).toBe(true)
    expect(profile.merged.reduce((sum, it) => sum + it.totalSamples!, 0)).toBe(profile.events.count)
    // heavy() has three quarters of the samples.
    expect(samplesIn(busy, 'heavy') / all).toBeGreaterThan(0.5)
    expect(samplesIn(busy, 'light') / all).toBeGreaterThan(0.05)
    expectWhole(depthOf(busy, 'down'))
    expect(await recordings(connection)).toEqual([])
    // No agent of jfluid was loaded.
    expect([...(await agentProperties(connection)).keys()].filter((it) => it.includes('jfluid'))).toEqual([])
  })

  itInFull('a flight recording of another tool continues and is noted in the profile', async () => {
    const settings = ['jdk.ExecutionSample#enabled=true', 'jdk.ExecutionSample#period=100ms']
    await startAnother(connection, { name: 'others', settings, ...KEPT })
    const profile = await record(isServed)
    expect(profile.warnings).toEqual([expect.stringContaining('has other recordings, too (others)')])
    expect(samplesIn(busyThread(profile), 'serve')).toBeGreaterThan(0)
    expect(await recordings(connection)).toEqual(['others'])
    expect(await stopRecording(connection, 'others')).toBe(true)
  })

  it('a flight recording left by a killed client is ended by the next session without a message', async () => {
    const file = join(temporaryDirectory('jfluid-jvm-'), 'p.jfluid')
    const killed = startJfluid('record', `${java.pid}`, ...BY_RECORDER, '--out', file)
    await stderrLine(killed, /^sampling/)
    await killed.kill()
    expect(await recordings(connection)).toEqual([expect.stringContaining(`-${killed.pid}-`)])
    expect((await record(() => true)).warnings).toEqual([])
    expect(await recordings(connection)).toEqual([])
  })

  itInFull(
    'if a root is given, only samples inside the root are kept, and no method is instrumented',
    async () => {
      const inside = 40
      const profile = await record(
        ({ events }) => events.count >= inside,
        ...['--sampler', 'jfr', '--root', 'Sampled.down'],
      )
      expect(profile).toMatchObject({ roots: ['fix.Sampled.down'], warnings: [], truncated: false })
      expect(profile.instrumentation).toMatchObject({ instrumentedMethods: 0, redefinitions: 0 })
      expect(profile.merged.map(({ method }) => method)).toEqual(['down'])
      expectWhole(depthOf(profile.merged, 'down'))
      expect(samplesIn(profile.merged, 'light')).toBeGreaterThan(0)
      expect(samplesIn(profile.merged, 'heavy')).toBe(0)
      expect(profile.merged.every(addsUp)).toBe(true)
      const { count } = profile.events
      expect(profile.merged[0]!.totalSamples).toBe(count)
      // Three quarters of the samples are in heavy(), outside the root.
      expect(profile.sampling!.outside).toBeGreaterThan(count)
      expect([...(await agentProperties(connection)).keys()].filter((it) => it.includes('jfluid'))).toEqual(
        [],
      )
    },
  )

  it('--sampler cpu works on JDKs that can sample CPU time', async () => {
    if (jdk.version < 25) {
      const ran = await jfluid(
        'record',
        `${java.pid}`,
        ...BY_RECORDER,
        '--sampler',
        'cpu',
        '--out',
        '/dev/null',
      )
      expect(ran.code).toBe(69)
      expect(ran.stderr).toContain(
        `cannot sample by CPU time: this needs JDK 25 or newer, and the JVM runs ${jdk.full}`,
      )
      return
    }
    const profile = await record(hasEnough, '--sampler', 'cpu', '--every', '5ms')
    expect(profile.sampling).toEqual({ every: 5_000_000, unit: 'ns', by: 'cpu' })
    const all = samplesIn(busyThread(profile), 'serve')
    expect(samplesIn(busyThread(profile), 'heavy') / all).toBeGreaterThan(0.5)
    // No system clock ticks this often.
    const often = await record('1s', '--sampler', 'cpu', '--every', '0.1ms')
    const told = expect.stringMatching(
      /^samples came every [\d.]+ ms of CPU time on average, not every 0\.1 ms/,
    )
    expect(often.warnings).toContainEqual(told)
  })
})

describe.each(newestOrAll)(
  'whole-JVM sampling of JVMs that jfluid starts or that end, JDK $version',
  (jdk) => {
    itInFull(
      'the flight recorder uses a private repository; if the JVM is killed, the data are kept, and the repository is deleted',
      async () => {
        const own = await startAtRest(jdk)
        const { socketPath } = await openAttachSocket(own.pid)
        await attachCommand(socketPath, 'jcmd', ['JFR.check'])
        const file = join(temporaryDirectory('jfluid-jvm-'), 'p.jfluid')
        const ran = await recordAtWork(own, 'while it records', isServed, ...BY_RECORDER, '--out', file)
        expect(ran.code, ran.stderr).toBe(0)
        expect(samplesIn(busyThread(await readProfileJson(file)), 'serve')).toBeGreaterThan(0)
        const [place = '', ...more] = repositories(own.pid)
        expect(statSync(join('/tmp', place)).mode & 0o777).toBe(0o700)
        expect(more).toEqual([])

        const recording = startRecording(own.pid, ...BY_RECORDER)
        await stderrLine(recording.process, /^sampling/)
        expect(repositories(own.pid).length).toBe(1)
        await own.kill()
        const { code } = await recording.process.exit
        expect(code).toBe(STATUS.jvmEnded)
        expect(recording.process.stderr()).toContain(`JVM ${own.pid} ended during the recording`)
        expect(existsSync(recording.file)).toBe(true)
        expect(repositories(own.pid)).toEqual([])
      },
    )

    it('jfluid run samples a program until the program ends, and exits with the status of the program', async () => {
      const file = join(temporaryDirectory('jfluid-jvm-'), 'p.jfluid')
      const program = [jdk.java, '-cp', await compileFixture(jdk, 'Sampled'), 'fix.Sampled', '2']
      const ran = await jfluid('run', ...BY_RECORDER, '--record', file, '--', ...program)
      expect(ran.code, ran.stderr).toBe(0)
      const profile = await readProfileJson(file)
      expect(samplesIn(busyThread(profile), 'serve')).toBeGreaterThan(0)
      expect(profile.truncated).toBe(false)
      const report = await jfluid('report', file)
      expect(report.stdout).toMatch(/^recorded {2}.*nothing is instrumented$/m)
      expect(report.stdout).toMatch(
        /^measured {2}one sample every 10 ms, of the whole JVM, taken by its flight recorder$/m,
      )
      expect(report.stdout).not.toMatch(/^(root|calls|removed|overhead|memory)/m)
    })
  },
)

forNewestJdk((jdk) => {
  it('without --sampler, the flight recorder is used if its start discards no compiled code', async () => {
    const java = await startAtRest(jdk)
    const file = join(temporaryDirectory('jfluid-jvm-'), 'p.jfluid')
    const ran = await recordAtWork(java, 'from the start', isServed, ...SAMPLE, '--out', file)
    expect(ran.code, ran.stderr).toBe(0)
    expect(ran.stderr).not.toContain('discards')
    const profile = await readProfileJson(file)
    const isOld = jdk.version < 23
    expect(profile.sampling!.by).toBe(isOld ? 'stacks' : 'jfr')
    expect(samplesIn(busyThread(profile), 'serve')).toBeGreaterThan(0)
    const connection = await openAttachSocket(java.pid)
    expect((await recorderSetup(connection)).repository === null).toBe(isOld)
    await quit(java)
  })
})

describe('whole-JVM sampling without a flight recorder', () => {
  let java: JavaProcess
  beforeAll(async () => {
    java = await startAtRest(newest, '-XX:-FlightRecorder')
  })
  afterAll(() => quit(java))
  const place = (): string => join(temporaryDirectory('jfluid-jvm-'), 'p.jfluid')

  it('--sampler jfr is refused with the reason', async () => {
    const ran = await jfluid('record', `${java.pid}`, ...BY_RECORDER, '--out', place())
    expect(ran.code).toBe(78)
    expect(ran.stderr).toContain(`JVM ${java.pid} has no flight recorder: Flight Recorder is disabled.`)
  })

  itInFull(
    'thread dumps find the same hot methods as the flight recorder, and a message reports that thread dumps are used',
    async () => {
      const file = place()
      const every = ['--every', '20ms', '--out', file]
      const ran = await recordAtWork(java, 'from the start', isServed, ...SAMPLE, ...every)
      expect(ran.code, ran.stderr).toBe(0)
      expect(ran.stderr).toContain('sampling by thread dumps instead: JVM ')
      const profile = await readProfileJson(file)
      const { merged, sampling } = profile
      expect(sampling).toMatchObject({ unit: 'ns', by: 'stacks' })
      expect(sampling!.every).toBeGreaterThanOrEqual(20_000_000)
      // The longer thread dumps take, the less often they are made.
      expect(sampling!.dumps).toBeGreaterThan(0)
      expect(sampling!.stoppedNs).toBeGreaterThan(0)
      expect(samplesIn(busyThread(profile), 'serve')).toBeGreaterThan(0)
      expect(depthOf(merged, 'waitForReferencePendingList')).toBe(0)
    },
  )

  itInFull(
    'a root without samples is reported as an error with the reason, and the profile is kept',
    async () => {
      const file = place()
      const asked = ['--root', 'Sampled.nowhere', '--out', file]
      const { code, stderr } = await recordAtWork(java, 'from the start', '1s', ...SAMPLE, ...asked)
      expect(code, stderr).toBe(STATUS.rootNeverCalled)
      expect(stderr).toMatch(
        /^jfluid: no thread was found inside Sampled\.nowhere in \d+ thread dumps?\n {2}Sample for longer\. Check that the method exists: jfluid doctor \d+ --root Sampled\.nowhere$/m,
      )
      const profile = await readProfileJson(file)
      expect(profile).toMatchObject({ roots: ['Sampled.nowhere'], merged: [], events: { count: 0 } })
      expect(profile.sampling!.outside).toBeGreaterThan(0)
      expect(profile.warnings).toContainEqual(expect.stringContaining('found inside Sampled.nowhere'))
    },
  )
})

itInFull('jfluid run reports that the started JVM has no flight recorder', async () => {
  const out = ['--record', join(temporaryDirectory('jfluid-jvm-'), 'p.jfluid')]
  const program = [newest.java, '-XX:-FlightRecorder', '-version']
  const off = await jfluid('run', ...BY_RECORDER, ...out, '--', ...program)
  expect(off.code, off.stderr).toBe(STATUS.notAJvm)
  expect(off.stdout).toContain('Flight Recorder is disabled.')
  expect(off.stderr).toMatch(/ended and started no JVM .*\n.*with a flight recorder .*, or use jfluid record/)
})

forJdks({ before: 25, reason: 'JDK 25 can sample by CPU time' }, (jdk) => {
  itInFull('jfluid run reports that the started JVM cannot sample CPU time', async () => {
    const classes = await compileFixture(jdk, 'Sampled')
    const out = join(temporaryDirectory('jfluid-jvm-'), 'p.jfluid')
    const cpu = [...BY_RECORDER, '--sampler', 'cpu', '--record', out]
    const old = await jfluid('run', ...cpu, '--', jdk.java, '-cp', classes, 'fix.Sampled', '60')
    expect(old.code, old.stderr).toBe(STATUS.notAJvm)
    expect(old.stderr).toContain(
      `cannot sample by CPU time: this needs JDK 25 or newer, and the JVM runs ${jdk.full}`,
    )
    expect(old.stdout).not.toContain('[jfr]')
  })
})

// A full disk ends a JVM that records. With little free space jfluid therefore starts no recording, and ends a running one.
const itAsRoot = itOnlyIf(process.getuid?.() === 0, 'needs root')
itAsRoot('a full disk ends the recording, and the JVM continues', async () => {
  const classes = await compileFixture(newest, 'Sampled')
  const mount = temporaryDirectory('jfluid-jvm-')
  const java = [newest.java, `-Djava.io.tmpdir=${mount}`, '-cp', classes, 'fix.Sampled']
  // Mounted in a private mount namespace, so the directory is unchanged for the test itself.
  const script = 'mount -t tmpfs -o size=100m tmpfs "$0" && exec "$@"'
  const own = startProcess('unshare', ['-m', 'sh', '-c', script, mount, ...java])
  await own.line(/^ready/)
  own.send('r')
  const seen = `/proc/${own.pid}/root${mount}`
  const fill = (leftMib: number): void => {
    const { bavail, bsize } = statfsSync(seen)
    writeFileSync(join(seen, 'ballast'), Buffer.alloc(bavail * bsize - leftMib * 2 ** 20))
  }
  const recording = startRecording(own.pid, ...BY_RECORDER)
  await stderrLine(recording.process, /^sampling/)
  fill(20)
  const { code } = await recording.process.exit
  expect(recording.process.stderr()).toMatch(
    /ended too early: too little room for a flight recording in .* MiB are free/,
  )
  expect(code).toBe(STATUS.cannotWrite)
  expect(existsSync(recording.file)).toBe(true)
  const connection = await openAttachSocket(own.pid)
  expect(await recordings(connection)).toEqual([])

  truncateSync(join(seen, 'ballast'), 0)
  fill(50)
  const ran = await jfluid('record', `${own.pid}`, ...BY_RECORDER, '--out', recording.file)
  expect(ran.code, ran.stderr).toBe(STATUS.cannotWrite)
  expect(ran.stderr).toMatch(/too little room for a flight recording in \S+: 50 MiB are free/)
  expect(await recordings(connection)).toEqual([])
  await quit(own)
})
