// jfluid doctor on JVMs that take longer to start, or that need root permissions.

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it, vi } from 'vitest'
import { compileFixture } from '../fixtures/fixtures.ts'
import { readableByAll, startJava, startProcess, temporaryDirectory } from '../support/java-process.ts'
import { forEachJdk, newest, targets } from '../support/jdks.ts'
import { cli, jfluid, readProfileJson } from '../support/jfluid.ts'
import { doctor, problems, start } from './doctor-json.ts'

/** Node.js and a JVM start several times in a test, which takes long if other processes use all processors. */
vi.setConfig({ testTimeout: 120_000 })

const NOBODY = { uid: 65534, gid: 65534 }

forEachJdk((jdk) => {
  it('doctor reports a disabled attach and a program of another user', async () => {
    const disabled = await start(jdk, '-XX:+DisableAttachMechanism')
    expect(await doctor(disabled)).toMatchObject({ exitCode: 78 })
    const classes = readableByAll(await compileFixture(jdk, 'Ticker'))
    const options = { ...NOBODY, cwd: '/' }
    const theirs = startJava(jdk, ['-cp', classes, 'fix.Ticker'], options)
    await theirs.line(/^ready/)
    expect(process.getuid?.(), 'this test needs root').toBe(0)
    const told = await doctor(theirs)
    expect(told.findings.find((it) => it.check === 'attach')?.level).toBe('ok')
  })

  it('doctor reports a runtime without java.instrument', async () => {
    const image = join(temporaryDirectory(), 'image')
    const jlink = join(jdk.home, 'bin', 'jlink')
    await promisify(execFile)(jlink, ['--add-modules', 'java.base', '--output', image])
    const own = { ...jdk, java: join(image, 'bin', 'java') }
    const told = await doctor(await start(own))
    expect(problems(told)).toEqual(['java.instrument'])
    expect(told.exitCode).toBe(69)
    // Thread dumps need no flight recorder.
    expect(told.findings.find((it) => it.check === 'sampling')?.level).toBe('ok')
    // With the option of `jfluid agent-path`, a JVM without the module java.instrument does not start.
    const { stdout: option } = await jfluid('agent-path')
    const began = promisify(execFile)(own.java, [option.trim(), '-version'])
    await expect(began).rejects.toMatchObject({ stdout: expect.stringContaining('java.instrument') })
  })
})

it('doctor and the profile say that a processor is not tested', async () => {
  const java = await start(newest)
  // Replaces the architecture that Node.js reports. The recorder and the agent still use that of the machine.
  const pretend = 'data:text/javascript,Object.defineProperty(process, "arch", { value: "riscv64" })'
  const run = async (...args: readonly string[]) => {
    const client = startProcess(process.execPath, ['--import', pretend, cli, ...args])
    return { code: (await client.exit).code, stdout: client.stdout(), stderr: client.stderr() }
  }
  const untested = 'jfluid is not tested on processors of the architecture riscv64, only on x86-64'
  const { findings } = JSON.parse((await run('doctor', `${java.pid}`, '--json')).stdout)
  expect(findings).toContainEqual({ check: 'architecture', level: 'note', text: untested })
  const file = join(temporaryDirectory(), 'p.jfluid')
  const flags = ['--root', 'fix.Ticker.work', '--duration', '200ms', '--out', file]
  const { code, stderr } = await run('record', `${java.pid}`, ...flags)
  expect(code, stderr).toBe(0)
  expect((await readProfileJson(file)).warnings).toContain(untested)
})

it('doctor predicts that an attach to JDK 11 fails without the command mkfifo', async () => {
  const jdk = targets.find(({ version }) => version === 11)
  if (jdk === undefined) throw new Error('there is no JDK 11: npm run jdks fetches it')
  const java = await start(jdk)
  expect(problems(await doctor(java))).toEqual([])
  const env = { PATH: temporaryDirectory() }
  const started = (...args: readonly string[]) => startProcess(process.execPath, [cli, ...args], { env })
  const predicted = started('doctor', `${java.pid}`)
  expect((await predicted.exit).code).toBe(72)
  expect(predicted.stdout()).toMatch(/PROBLEM +named pipes .*\n +Install the command mkfifo/)
  const flags = ['--root', 'fix.Ticker.work', '--duration', '200ms', '--out', '/dev/null']
  const attempt = started('record', `${java.pid}`, ...flags)
  expect((await attempt.exit).code, attempt.stderr()).toBe(72)
})
