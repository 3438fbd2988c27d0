// What differs on JDK 11: lambda classes and reflection, the pipes to the agent, also from a JVM in another network namespace, `jfluid run`,
// and what is refused. `npm run jdks` fetches a JDK 11.

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, vi } from 'vitest'
import { linkOf } from '../../src/base/visible.ts'
import { byMethod, parseExpectation } from '../fixtures/expectation.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { STATUS } from '../support/exit-codes.ts'
import { ask, startJava, startProcess, temporaryDirectory } from '../support/java-process.ts'
import { type Jdk, newest, targets } from '../support/jdks.ts'
import {
  callsByPath,
  cli,
  jfluid,
  lines,
  readProfileJson,
  startJfluid,
  startRecording,
} from '../support/jfluid.ts'

const jdk11 = targets.find(({ version }) => version === 11)

it('a JVM whose version is not in its performance data needs no mkfifo if it is not of JDK 11', async () => {
  const classes = await compileFixture(newest, 'Ticker')
  const java = startJava(newest, ['-XX:-UsePerfData', '-cp', classes, 'fix.Ticker', '1', 'tiny'])
  await java.line(/^ready/)
  const flags = ['--root', 'fix.Ticker.work', '--duration', '200ms']
  const out = join(temporaryDirectory(), 'p.jfluid')
  const record = startProcess(process.execPath, [cli, 'record', `${java.pid}`, ...flags, '--out', out], {
    env: { PATH: temporaryDirectory() },
  })
  expect((await record.exit).code, record.stderr()).toBe(0)
})

describe('a JVM of JDK 11', () => {
  const jdk = (): Jdk => {
    if (jdk11 === undefined) throw new Error('there is no JDK 11: npm run jdks fetches it')
    return jdk11
  }

  it.each(['a', 'b'])(
    'scheme %s counts calls of lambdas that exist before the session, and of constructors called by reflection',
    async (scheme) => {
      const java = startJava(jdk(), ['-cp', await compileFixture(jdk(), 'Callbacks'), 'fix.Callbacks'])
      await java.line(/^ready/)
      const recording = startRecording(java.pid, '--root', 'fix.Callbacks.root', '--scheme', scheme)
      await recording.started
      await ask(java, 'run', /^done/)
      const { merged, instrumentation } = await recording.stop()
      await ask(java, 'expect', /^end/)
      expect(lines(byMethod(callsByPath(merged)))).toEqual(lines(parseExpectation(java.stdout())))
      expect(instrumentation.skipped).toEqual([])
    },
  )

  it('jfluid run counts each call from the start of the program', async () => {
    const classes = await compileFixture(jdk(), 'KnownTree')
    const file = join(temporaryDirectory(), 'p.jfluid')
    const command = [jdk().java, '-cp', classes, 'fix.KnownTree', '2', '10']
    const flags = ['--root', 'fix.KnownTree.task', '--scheme', 'b', '--record', file]
    const run = startJfluid('run', ...flags, '--', ...command)
    for (const line of ['run 1', 'expect', 'quit']) run.send(line)
    expect((await run.exit).code, run.stderr()).toBe(0)
    const { merged } = await readProfileJson(file)
    expect(lines(callsByPath(merged))).toEqual(lines(parseExpectation(run.stdout())))
  })

  it('below another command the program runs unchanged, and the error says that JDK 11 cannot be recorded there', async () => {
    const classes = await compileFixture(jdk(), 'KnownTree')
    const file = join(temporaryDirectory(), 'p.jfluid')
    const flags = ['--root', 'fix.KnownTree.task', '--record', file]
    const command = ['sh', '-c', '"$@"; echo "ended with $?"', 'sh']
    const java = [jdk().java, '-cp', classes, 'fix.KnownTree', '2', '10']
    const run = startJfluid('run', ...flags, '--', ...command, ...java)
    for (const line of ['run 1', 'expect', 'quit']) run.send(line)
    const { code } = await run.exit
    expect(run.stdout()).toMatch(/^ended with 0$/m)
    expect(parseExpectation(run.stdout()).size).toBeGreaterThan(0)
    expect(run.stderr()).toMatch(
      /^jfluid: the command has started a JVM of JDK 11; the JVMs of a command are profiled from JDK 16 on\n {2}Use the command java itself after --, or in another terminal: jfluid record --wait-for <main class>$/m,
    )
    expect(code).toBe(STATUS.notAJvm)
    expect(existsSync(file)).toBe(false)
  })

  it('a JVM in another network namespace is profiled, and nothing remains', async () => {
    const command = [jdk().java, '-cp', await compileFixture(jdk(), 'Ticker'), 'fix.Ticker', '1', 'tiny']
    const java = startProcess('unshare', ['--net', '--', ...command])
    await java.line(/^ready/)
    const record = ['record', `${java.pid}`, '--root', 'fix.Ticker.work', '--duration', '500ms']
    const { code, stderr } = await jfluid(...record, '--out', join(temporaryDirectory(), 'p.jfluid'))
    expect(code, stderr).toBe(0)
    expect(stderr).toMatch(/verified as original, nothing of jfluid remains/)
    expect(
      readdirSync(`/proc/${java.pid}/fd`).map((it) => linkOf(`/proc/${java.pid}/fd/${it}`)),
    ).not.toContainEqual(expect.stringMatching(/to-agent|from-agent|jfluid-\d/))
  })

  it('jfluid run without the command mkfifo shows how to install it', async () => {
    const { code, stderr } = await runOnJdk11([], { PATH: temporaryDirectory() })
    expect(stderr).toMatch(/named pipes .*: spawnSync mkfifo ENOENT\n {2}Install the command mkfifo/)
    expect(code).toBe(72)
  })

  // JDK 11 accepts other values of these properties.
  it.each([
    ['-Djava.vm.name=Eclipse OpenJ9 VM', /the VM is Eclipse OpenJ9 VM, not HotSpot/],
    ['-Djava.specification.version=1.8', /it runs JDK 1.8, and jfluid needs JDK 11/],
  ])('jfluid run refuses a JVM that it does not support: %s', async (option, reason) => {
    const { code, stderr } = await runOnJdk11([option])
    expect(stderr).toMatch(reason)
    expect(code).toBe(69)
  })

  async function runOnJdk11(jvmOptions: readonly string[], env: Record<string, string> = {}) {
    const command = [
      jdk().java,
      ...jvmOptions,
      '-cp',
      await compileFixture(jdk(), 'Ticker'),
      'fix.Ticker',
      '1',
      'tiny',
    ]
    const flags = ['--root', 'fix.Ticker.work', '--record', join(temporaryDirectory(), 'p.jfluid')]
    const run = startProcess(process.execPath, [cli, 'run', ...flags, '--', ...command], { env })
    const { code } = await run.exit
    return { code, stderr: run.stderr() }
  }

  it('--liveness is refused with the reason, and no thread of the agent remains', async () => {
    const java = startJava(jdk(), ['-cp', await compileFixture(jdk(), 'Ticker'), 'fix.Ticker', '1', 'tiny'])
    await java.line(/^ready/)
    const flags = ['--root', 'fix.Ticker.work', '--mode', 'alloc', '--liveness', '--duration', '1s']
    const out = join(temporaryDirectory(), 'p.jfluid')
    const { code, stderr } = await jfluid('record', `${java.pid}`, ...flags, '--out', out)
    expect(stderr).toMatch(/a check whether an object is alive may keep it alive\n {2}Leave --liveness out/)
    expect(code).toBe(69)
    const threads = () =>
      readdirSync(`/proc/${java.pid}/task`).map((it) =>
        readFileSync(`/proc/${java.pid}/task/${it}/comm`, 'utf8'),
      )
    await vi.waitUntil(() => !threads().some((it) => it.startsWith('jfluid')), { timeout: 10_000 })
  })

  it('--sampler jfr is refused with the reason', async () => {
    const classes = await compileFixture(jdk(), 'Ticker')
    const java = startJava(jdk(), ['-cp', classes, 'fix.Ticker', '1', 'tiny'])
    await java.line(/^ready/)
    const flags = ['--mode', 'sample', '--sampler', 'jfr', '--duration', '1s']
    const { code, stderr } = await jfluid(
      'record',
      `${java.pid}`,
      ...flags,
      '--out',
      join(temporaryDirectory(), 'p.jfluid'),
    )
    expect(code).toBe(69)
    expect(stderr).toMatch(/settings of events only from JDK 17 on\n {2}Leave --sampler out/)
  })
})
