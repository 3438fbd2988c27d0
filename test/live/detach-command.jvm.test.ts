// jfluid detach ends a session if the session's client cannot end it, and does not affect other sessions.

import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, it, onTestFinished } from 'vitest'
import { agentProperties } from '../../src/attach/command.ts'
import { openAttachSocket } from '../../src/attach/handshake.ts'
import { agentJar } from '../../src/session/doors/agent-jar.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { type JavaProcess, startJava, startProcess } from '../support/java-process.ts'
import { forNewestJdk } from '../support/jdks.ts'
import { AUTOSAVED, jfluid, readProfileJson, recordedSoFar, startRecording } from '../support/jfluid.ts'
import { itInFull, itOnlyIf } from '../support/only-if.ts'
import { liveCode, probed, startDebuggable } from './live-code.ts'
import { threadNames, until } from './remains.ts'

const IS_ROOT = process.getuid?.() === 0
const CLI = join(import.meta.dirname, '../../dist/cli.js')
const NOBODY = { uid: 65534, gid: 65534, cwd: '/' }
const ROOT = ['--root', 'fix.Ticker.work']

forNewestJdk((jdk) => {
  let args: string[]
  beforeAll(async () => {
    args = ['-cp', await compileFixture(jdk, 'Ticker'), 'fix.Ticker', '1', 'sleep']
  })

  async function startTicker(): Promise<JavaProcess> {
    const java = startJava(jdk, args)
    await java.line(/^ready/)
    return java
  }

  it('the agent detaches from a target whose client is stopped, even if no thread waits for the client, and the client keeps the profile', async () => {
    const { java, jvm } = await startDebuggable(jdk, args)
    const recording = startRecording(java.pid, ...ROOT, ...AUTOSAVED)
    await recordedSoFar(recording)
    recording.process.child.kill('SIGSTOP')
    const stopped = performance.now()
    await until(async () => !(await threadNames(java.pid)).some((it) => /jfluid/.test(it)))
    console.info(
      `JDK ${jdk.version}: left ${Math.round(performance.now() - stopped)} ms after its client was stopped`,
    )
    expect(probed(await liveCode(jvm, 'Lfix/'))).toEqual([])
    recording.process.child.kill('SIGCONT')
    expect((await recording.process.exit).code).toBe(75)
    const { merged, warnings } = await readProfileJson(recording.file)
    expect(merged.map((it) => it.method)).toEqual(['work'])
    expect(warnings).toContain('the session ended unexpectedly: the client was stopped or killed')
    await jvm.dispose()
  })

  it('jfluid detach restores the code at once if the client is stopped', async () => {
    const { java, jvm } = await startDebuggable(jdk, args)
    const recording = startRecording(java.pid, ...ROOT, ...AUTOSAVED)
    await recordedSoFar(recording)
    expect(probed(await liveCode(jvm, 'Lfix/'))).not.toEqual([])
    recording.process.child.kill('SIGSTOP')

    const { code, stdout, stderr } = await jfluid('detach', String(java.pid))
    expect([code, stderr]).toEqual([0, ''])
    // If `jfluid detach` starts late, the target may have ended the session itself.
    const ended = new RegExp(
      `^detached from ${java.pid} in \\d+ ms; restored: 2 classes, nothing of jfluid remains\n`,
    )
    const over = new RegExp(`^no jfluid session in JVM ${java.pid}; nothing of jfluid remains\n`)
    expect(stdout).toMatch(new RegExp(`${ended.source}|${over.source}`))
    expect(probed(await liveCode(jvm, 'Lfix/'))).toEqual([])
    expect((await threadNames(java.pid)).filter((it) => /jfluid/.test(it))).toEqual([])

    recording.process.child.kill('SIGCONT')
    expect((await recording.process.exit).code).toBe(75)
    const { merged, warnings } = await readProfileJson(recording.file)
    expect(merged.map((it) => it.method)).toEqual(['work'])
    // The target may have begun to leave the session before the request arrived.
    const reasons = ['the client was stopped or killed']
    if (ended.test(stdout)) reasons.push('it was ended by jfluid detach')
    const said = reasons.map((it) => `the session ended unexpectedly: ${it}`)
    expect(warnings.filter((it) => said.includes(it))).toHaveLength(1)
    await jvm.dispose()
  })

  it('jfluid detach is refused while the client is alive, unless forced', async () => {
    const java = await startTicker()
    const recording = startRecording(java.pid, ...ROOT)
    await recording.started
    const refused = await jfluid('detach', String(java.pid))
    expect([refused.code, refused.stdout]).toEqual([75, ''])
    expect(refused.stderr).toContain(
      `another jfluid is profiling JVM ${java.pid}, and it runs (process ${recording.process.pid})`,
    )
    expect(await threadNames(java.pid)).toContain('jfluid-agent')

    const { code, stdout } = await jfluid('detach', String(java.pid), '--force', '--json')
    expect(code).toBe(0)
    const { removed: _, ...said } = JSON.parse(stdout)
    expect(said).toEqual({
      ...{ command: 'detach', version: 1, pid: java.pid },
      ended: {
        ...{ restoredClasses: 2, refusedClasses: 0, lambdaClasses: 0, ms: expect.any(Number) },
        ...{ released: true, transformerGone: true },
      },
      ...{ left: [], unseen: [] },
    })
    expect((await recording.process.exit).code).toBe(75)
    // The next session finds an idle agent, as after any detach.
    const next = startRecording(java.pid, ...ROOT, ...AUTOSAVED)
    await recordedSoFar(next)
    expect((await next.stop()).merged).toHaveLength(1)
  })

  it('a leftover request of a killed jfluid detach ends only the session that the request names', async () => {
    const java = await startTicker()
    const recording = startRecording(java.pid, ...ROOT)
    await recording.started
    const own = /\/(jfluid-\d+-\d+-\w{6})\//.exec(readFileSync(`/proc/${java.pid}/maps`, 'utf8'))![1]
    const connection = await openAttachSocket(java.pid)
    /** Writes a request and reads the agent properties, which makes the agent execute the request. */
    const read = async (session: string): Promise<string | undefined> => {
      const line = `detach=force;build=${agentJar().build};sessions=${session}`
      writeFileSync(`/tmp/.jfluid_pid${java.pid}`, line, { mode: 0o600 })
      return (await agentProperties(connection)).get('jfluid.detached')
    }
    expect(await read('jfluid-1-1-aaaaaa,jfluid-1-2-bbbbbb')).toBe('none')
    expect(await threadNames(java.pid)).toContain('jfluid-agent')
    expect(await read(`jfluid-1-1-aaaaaa,${own}`)).toMatch(/^ended 2 0 /)
    expect((await recording.process.exit).code).toBe(75)
  })

  itInFull(
    'jfluid detach leaves a JVM without a session unchanged and removes remains of dead clients',
    async () => {
      const dead = startProcess(process.execPath, ['-e', ''])
      await dead.exit
      const namespace = /\d+/.exec(readlinkSync('/proc/self/ns/pid'))![0]
      const left = `/dev/shm/jfluid-${namespace}-${dead.pid}-abcdef`
      mkdirSync(left)
      onTestFinished(() => rmSync(left, { recursive: true, force: true }))
      writeFileSync(join(left, 'ring'), '')
      const java = await startTicker()
      const { code, stdout } = await jfluid('detach', String(java.pid))
      expect(code).toBe(0)
      expect(stdout).toContain(`no jfluid session in JVM ${java.pid}; nothing of jfluid remains\n`)
      // Another session that starts at the same time may have removed this directory.
      expect(existsSync(left)).toBe(false)
      expect(existsSync(`/tmp/.java_pid${java.pid}`)).toBe(false)
    },
  )

  itOnlyIf(IS_ROOT, 'needs root')('jfluid detach refuses a JVM of another user', async () => {
    const java = await startTicker()
    const { code, stderr } = await new Promise<{ code: unknown; stderr: string }>((resolve) => {
      execFile(process.execPath, [CLI, 'detach', String(java.pid)], NOBODY, (error, _, said) =>
        resolve({ code: error?.code, stderr: said }),
      )
    })
    expect(code).toBe(77)
    expect(stderr).toContain(`cannot attach to JVM ${java.pid}: the process belongs to uid 0`)
  })
})

itInFull('jfluid detach refuses a missing process and a process that is not a JVM', async () => {
  const sleeping = startProcess('sleep', ['60'])
  const { code, stderr } = await jfluid('detach', String(sleeping.pid))
  expect(code).toBe(69)
  expect(stderr).toContain('is not a JVM')
  await sleeping.kill()
  expect((await jfluid('detach', String(sleeping.pid))).code).toBe(68)
})
