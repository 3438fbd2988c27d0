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
 * What differs in more than what is recorded, by the command that it is tried with. The others of each kind have tests of their
 * own: exact time in run.jvm and terminal.jvm, `run` with bytecodes in gate.jvm, both with regions in regions.jvm, and `run` of
 * the whole JVM in whole-jvm.jvm.
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
    java.child.stdin?.end() // its own end removes what its flight recorder has left; being killed does not
    await java.exit
  })

  describe('each measurement mode', { timeout: 60_000 }, () => {
    it.each(triedWith('run'))('run works with %s', async (_, flags, answer) => {
      const out = file()
      const program = [jdk.java, '-cp', classes, 'fix.Sampled', '1']
      const ran = await jfluid('run', ...flags, '--record', out, '--', ...program)
      expect(ran.code, ran.stderr).toBe(0)
      expect(answer(await readProfileJson(out))).toBeGreaterThan(0)
    })

    it.each(triedWith('attach'))('attach works with %s', async (_, flags, answer) => {
      const out = file()
      const terminal = Terminal.jfluid(['attach', `${java.pid}`, ...flags, '--out', out])
      // Of the whole JVM, what is open is where most samples are: where a thread waits for a read, by dumps.
      const seen = flags.includes(SERVE) ? SERVE : 'java.lang.Thread.run'
      // In a row with two numbers: a call that has begun may have no costs yet, and what is said of a root that is yet to be called has none.
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
