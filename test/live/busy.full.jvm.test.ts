// A JVM that has no processor to spare for compiling its code again, before JDK 23: its user is asked before anything is done to it.
// With the machine to itself, or it would not be busy: jfluid looks at its use of processors for some tens of ms first.

import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { expect, it } from 'vitest'
import { compileFixture } from '../fixtures/fixtures.ts'
import { STATUS } from '../support/exit-codes.ts'
import { type JavaProcess, startJava, temporaryDirectory } from '../support/java-process.ts'
import { forEachJdk, type Jdk } from '../support/jdks.ts'
import { jfluid, startRecording } from '../support/jfluid.ts'

/** The first without the flush (JDK-8324241). */
const KEEPS_CODE = 23

/** What runs twice is compiled: more than 1,000 methods. */
async function startBusy(jdk: Jdk): Promise<JavaProcess> {
  const classes = await compileFixture(jdk, 'Witness')
  const java = startJava(jdk, [
    '-XX:CompileThresholdScaling=0.001',
    '-cp',
    classes,
    'fix.Witness',
    `${availableParallelism()}`,
  ])
  await java.line(/^ready/)
  return java
}

const hasAgent = ({ pid }: JavaProcess): boolean =>
  readFileSync(`/proc/${pid}/maps`, 'utf8').includes('libinstrument.so')

forEachJdk((jdk) => {
  it('with all processors busy, whose first redefinition discards its code', {
    timeout: 60_000,
  }, async () => {
    const java = await startBusy(jdk)
    const root = ['--root', 'fix.Witness.root', '--scheme', 'adaptive']
    const record = ['record', String(java.pid), ...root, '--duration', '1s']
    const { code, stderr } = await jfluid(
      ...record,
      '--out',
      `${temporaryDirectory('jfluid-busy-')}/p.jfluid`,
    )
    if (jdk.version >= KEEPS_CODE) {
      expect(stderr).toContain('profile written to')
      expect(code).toBe(0)
      return
    }
    expect(stderr).toMatch(
      new RegExp(
        `JVM ${java.pid} keeps [\\d.]+ of [\\d.]+ processors busy, and its first redefinition discards all of its [\\d,]+ compiled methods \\(JDK ${jdk.version}\\)`,
      ),
    )
    expect(code).toBe(STATUS.notNow)
    expect(hasAgent(java)).toBe(false)
    const recording = startRecording(java.pid, ...root, '--yes')
    await recording.started
    await recording.stop()
    expect(hasAgent(java)).toBe(true)
  })
})
