// A JVM that contains the idle agent of an earlier jfluid, whose probes differ: doctor and attach give the reason, and change nothing.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { compileFixture } from '../fixtures/fixtures.ts'
import { startJava, temporaryDirectory } from '../support/java-process.ts'
import { forEachJdk } from '../support/jdks.ts'
import { jfluid } from '../support/jfluid.ts'
import { threadsOf } from './remains.ts'

const JAR = join(import.meta.dirname, 'old-agent', 'jfluid-agent.jar')

forEachJdk((jdk) => {
  it('a JVM with the idle agent of an earlier jfluid is refused with the reason, and is not changed', async () => {
    const classes = await compileFixture(jdk, 'Slow')
    const log = join(temporaryDirectory(), 'classes.log')
    const options = [`-Xlog:class+load,redefine*=info:file=${log}`, `-javaagent:${JAR}`, '-cp', classes]
    const java = startJava(jdk, [...options, 'fix.Slow'])
    await java.line(/^ready/)
    java.send('go 10')
    await java.line(/^done/)
    const pid = String(java.pid)
    const before = readFileSync(log, 'utf8')
    expect(before).toContain('java.lang.JFluid1')

    const out = join(temporaryDirectory(), 'p.jfluid')
    const doctor = await jfluid('doctor', pid)
    const record = await jfluid(
      'record',
      pid,
      '--root',
      'fix.Slow.serve',
      '--duration',
      '200ms',
      '--out',
      out,
    )
    const said = `JVM ${pid} contains the agent of another jfluid build, which stays until the JVM ends`
    expect([doctor.code, record.code], doctor.stdout + record.stderr).toEqual([69, 69])
    expect(doctor.stdout.replace(/\s+/g, ' ')).toContain(said)
    expect(record.stderr).toContain(said)
    expect(record.stderr).toMatch(/Use the jfluid of that agent, or restart the program/)

    expect(threadsOf(java.pid).filter((name) => /^jfluid|^Attach Listener/.test(name))).toEqual([])
    java.send('go 10')
    await java.line(/^done/, 2)
    const loaded = readFileSync(log, 'utf8').slice(before.length).split('\n')
    expect(loaded.filter((line) => /jfluid|redefin/i.test(line))).toEqual([])
    await java.kill()
  })
})
