// jfluid doctor on real JVMs: what it says, what it leaves, and that its numbers are those of an attach.

import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { compiledMethods } from '../../src/attach/compiled-methods.ts'
import { openAttachSocket } from '../../src/attach/handshake.ts'
import { readThreadNames } from '../../src/attach/target-process.ts'
import { compileFixture } from '../fixtures/fixtures.ts'
import { type JavaProcess, startJava, temporaryDirectory } from '../support/java-process.ts'
import { forNewestJdk, type Jdk } from '../support/jdks.ts'
import { jfluid, readProfileJson } from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'

const NOBODY = { uid: 65534, gid: 65534 }

interface Told {
  go: boolean
  exitCode: number
  findings: { check: string; level: string; text: string }[]
  reach?: {
    roots: { root: string; methods: number; classes: string[] }[]
    schemeA: { methods: number; classes: number }
    schemeB: { methods: number; classes: number }
  }
}

async function start(jdk: Jdk, ...options: string[]): Promise<JavaProcess> {
  const classes = await compileFixture(jdk, 'Ticker')
  const java = startJava(jdk, [...options, '-cp', classes, 'fix.Ticker'])
  await java.line(/^ready/)
  return java
}

async function doctor(java: JavaProcess, ...flags: string[]): Promise<Told> {
  const { code, stdout, stderr } = await jfluid('doctor', `${java.pid}`, '--json', ...flags)
  expect(stdout, stderr).not.toBe('')
  const told = JSON.parse(stdout) as Told
  expect(told.exitCode).toBe(code)
  expect(told.go).toBe(code === 0)
  return told
}

const problems = ({ findings }: Told): string[] =>
  findings.filter((it) => it.level === 'problem').map((it) => it.check)

forNewestJdk((jdk) => {
  it('says go, and leaves no trace in the JVM', async () => {
    const java = await start(jdk)
    const told = await doctor(java)
    expect(told.findings.find((it) => it.check === 'jdk')?.text).toContain(jdk.full)
    expect(problems(told)).toEqual([])
    // A JVM that has been signalled, or asked anything, has this thread and its socket.
    expect([...readThreadNames(java.pid)]).not.toContain('Attach Listener')
    expect(existsSync(`/tmp/.java_pid${java.pid}`)).toBe(false)
    expect(java.stderr()).toBe('')
  })

  it('counts what a session then instruments, and what was compiled stays so', async () => {
    const java = await start(jdk)
    const connection = await openAttachSocket(java.pid)
    const before = await compiledMethods(connection)
    const root = ['--root', 'fix.Ticker.work']
    const { reach, findings } = await doctor(java, ...root)
    const after = await compiledMethods(connection)
    expect(before.size).toBeGreaterThan(0)
    // The first redefinition would have discarded all of it, on JDK 17.
    expect([...before].filter((it) => after.has(it)).length).toBeGreaterThan(before.size / 2)
    expect(findings.find((it) => it.check === 'session')?.text).toBe('no jfluid has been in it')
    expect(reach?.roots).toEqual([{ root: 'fix.Ticker.work', methods: 1, classes: ['fix.Ticker'] }])

    const file = join(temporaryDirectory(), 'p.jfluid')
    const ran = await jfluid(
      'record',
      `${java.pid}`,
      ...root,
      '--scheme',
      'a',
      '--duration',
      '1s',
      '--out',
      file,
    )
    expect(ran.code, ran.stderr).toBe(0)
    const { instrumentation } = await readProfileJson(file)
    expect(reach?.schemeA.methods).toBe(instrumentation.instrumentedMethods)
    expect(reach?.schemeB.methods).toBeGreaterThan(0)
    expect(reach?.schemeB.methods).toBeLessThanOrEqual(instrumentation.instrumentedMethods)

    const again = await doctor(java)
    expect(again.findings.find((it) => it.check === 'session')?.text).toContain('its agent sleeps')
  })
})

forNewestJdk((jdk) => {
  it('says no go as attach then does, before a root is looked at', async () => {
    const java = await start(jdk, '-XX:-EnableDynamicAgentLoading')
    const told = await doctor(java, '--root', 'fix.Ticker.work')
    expect(problems(told)).toEqual(['agent loading'])
    expect(told.reach).toBeUndefined()
    const ran = await jfluid('record', `${java.pid}`, '--root', 'fix.Ticker.work', '--out', '/dev/null')
    expect(ran.code).toBe(told.exitCode)
  })
})

describe.runIf(FULL)('what takes longer, or needs tools', () => {
  forNewestJdk((jdk) => {
    it('attach switched off, and a program of another user', async () => {
      const disabled = await start(jdk, '-XX:+DisableAttachMechanism')
      expect(await doctor(disabled)).toMatchObject({ exitCode: 78 })
      const classes = await compileFixture(jdk, 'Ticker')
      const home = temporaryDirectory()
      await promisify(execFile)('cp', ['-r', classes, join(home, 'classes')])
      await promisify(execFile)('chmod', ['-R', 'a+rX', home])
      const options = { ...NOBODY, cwd: '/' }
      const theirs = startJava(jdk, ['-cp', join(home, 'classes'), 'fix.Ticker'], options)
      await theirs.line(/^ready/)
      expect(process.getuid?.(), 'this test needs root').toBe(0)
      const told = await doctor(theirs)
      expect(told.findings.find((it) => it.check === 'attach')?.level).toBe('ok')
    })

    it('a runtime without java.instrument', async () => {
      const image = join(temporaryDirectory(), 'image')
      const jlink = join(jdk.home, 'bin', 'jlink')
      await promisify(execFile)(jlink, ['--add-modules', 'java.base', '--output', image])
      const own = { ...jdk, java: join(image, 'bin', 'java') }
      const told = await doctor(await start(own))
      expect(problems(told)).toEqual(['java.instrument'])
      expect(told.exitCode).toBe(69)
      expect(told.findings.find((it) => it.check === 'sampling')?.level).toBe('note')
    })
  })
})
