// Each kind of mode with attach and run, on one small program. Modes with record: measures.smoke.jvm.test.ts.

import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { compileFixture } from '../fixtures/fixtures.ts'
import { type JavaProcess, startJava, temporaryDirectory } from '../support/java-process.ts'
import { forNewestJdk } from '../support/jdks.ts'
import { jfluid, readProfileJson } from '../support/jfluid.ts'
import { FULL } from '../support/lane.ts'
import { Terminal } from '../support/terminal.ts'
import { SERVE, WAYS } from './ways.ts'

/**
 * Modes tested with each command: modes that differ in more than the recorded values. Other tests cover the remaining combinations: exact
 * time in run.jvm and terminal.jvm, `run` with bytecodes in gate.jvm, regions with both commands in regions.jvm, and `run` of the whole JVM
 * in whole-jvm.jvm.
 */
const TRIED: Readonly<Record<'run' | 'attach', readonly string[]>> = {
  run: ['samples by bytecodes', 'samples by time'],
  attach: ['--mode bytecodes', 'samples by bytecodes', 'the whole JVM', 'samples by time'],
}
for (const name of Object.values(TRIED).flat()) {
  if (!WAYS.some(([known]) => known === name)) throw new Error(`no way is called '${name}'`)
}
const triedWith = (command: keyof typeof TRIED) =>
  WAYS.filter(([name]) => FULL || TRIED[command].includes(name))

forNewestJdk((jdk) => {
  let classes: string
  let java: JavaProcess
  const file = (): string => join(temporaryDirectory('jfluid-modes-'), 'p.jfluid')

  beforeAll(async () => {
    classes = await compileFixture(jdk, 'Sampled')
    java = startJava(jdk, ['-cp', classes, 'fix.Sampled'])
    await java.line(/^ready/)
  })

  afterAll(async () => {
    java.child.stdin?.end() // on a normal exit, but not when it is killed, the JVM deletes the files of its flight recorder
    await java.exit
  })

  describe('run and attach with each measurement mode', () => {
    it.each(triedWith('run'))('jfluid run works with %s', async (_, flags, answer) => {
      const out = file()
      const program = [jdk.java, '-cp', classes, 'fix.Sampled', '1']
      const ran = await jfluid('run', ...flags, '--record', out, '--', ...program)
      expect(ran.code, ran.stderr).toBe(0)
      expect(answer(await readProfileJson(out))).toBeGreaterThan(0)
    })

    it.each(triedWith('attach'))('jfluid attach works with %s', async (_, flags, answer) => {
      const out = file()
      const terminal = Terminal.jfluid(['attach', `${java.pid}`, ...flags, '--out', out])
      // In the view of the whole JVM, the expanded row is the row with most samples. With thread dumps this is a thread that waits for
      // input.
      const seen = flags.includes(SERVE) ? SERVE : 'java.lang.Thread.run'
      // Waits for a row with two numbers. The row of a running call may have no costs yet, and the message about a root without calls has
      // no numbers.
      await terminal.until((lines) =>
        lines
          .slice(2, -2)
          .some((line) => line.includes(seen) && /[1-9]\S* .*[1-9]/.test(line.replace(seen, ''))),
      )
      terminal.send('q')
      const { code } = await terminal.exit
      expect(code, terminal.scrollback().join('\n')).toBe(0)
      expect(answer(await readProfileJson(out))).toBeGreaterThan(0)
    })
  })
})
