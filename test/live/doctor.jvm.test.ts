// jfluid doctor on real JVMs: its output and its effects. Its numbers must equal the numbers of an attach.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openAttachSocket } from '../../src/attach/handshake.ts'
import { compiledMethods } from '../../src/attach/loaded-code.ts'
import { readThreadNames } from '../../src/attach/target-process.ts'
import { temporaryDirectory } from '../support/java-process.ts'
import { forNewestJdk } from '../support/jdks.ts'
import { jfluid, readProfileJson } from '../support/jfluid.ts'
import { itInFull } from '../support/only-if.ts'
import { doctor, problems, start } from './doctor-json.ts'

forNewestJdk((jdk) => {
  it('doctor reports that an attach is possible and leaves no trace in the JVM', async () => {
    const java = await start(jdk)
    const told = await doctor(java)
    expect(told.findings.find((it) => it.check === 'jdk')?.text).toContain(jdk.full)
    expect(problems(told)).toEqual([])
    // Any signal or request of an attach creates this thread and this socket.
    expect([...readThreadNames(java.pid)]).not.toContain('Attach Listener')
    expect(existsSync(`/tmp/.java_pid${java.pid}`)).toBe(false)
    expect(java.stderr()).toBe('')
  })

  it('doctor counts the methods that a session instruments and discards no compiled code', async () => {
    const java = await start(jdk)
    const connection = await openAttachSocket(java.pid)
    const before = await compiledMethods(connection)
    const root = ['--root', 'fix.Ticker.work']
    const { reach, findings } = await doctor(java, ...root)
    const after = await compiledMethods(connection)
    expect(before.size).toBeGreaterThan(0)
    // On JDK 17 the first redefinition would have discarded all compiled methods.
    expect([...before].filter((it) => after.has(it)).length).toBeGreaterThan(before.size / 2)
    expect(findings.find((it) => it.check === 'session')?.text).toBe('jfluid has not been attached before')
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
    expect(again.findings.find((it) => it.check === 'session')?.text).toContain('its idle agent is used')
  })
})

forNewestJdk((jdk) => {
  itInFull(
    'doctor reports an obstacle with the exit status that an attach would have, and does not check the root',
    async () => {
      const java = await start(jdk, '-XX:-EnableDynamicAgentLoading')
      const told = await doctor(java, '--root', 'fix.Ticker.work')
      expect(problems(told)).toEqual(['agent loading'])
      expect(told.reach).toBeUndefined()
      const ran = await jfluid('record', `${java.pid}`, '--root', 'fix.Ticker.work', '--out', '/dev/null')
      expect(ran.code).toBe(told.exitCode)
    },
  )
})
