// jfluid doctor on JVMs that take longer to start, or that need root permissions.

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { compileFixture } from '../fixtures/fixtures.ts'
import { readableByAll, startJava, temporaryDirectory } from '../support/java-process.ts'
import { forEachJdk } from '../support/jdks.ts'
import { jfluid } from '../support/jfluid.ts'
import { doctor, problems, start } from './doctor-json.ts'

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
