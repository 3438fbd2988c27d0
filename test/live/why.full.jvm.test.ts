// The command jfluid why, ended before its duration is over.

import { expect, it } from 'vitest'
import { compileFixture } from '../fixtures/fixtures.ts'
import { startJava } from '../support/java-process.ts'
import { forEachJdk, type Jdk } from '../support/jdks.ts'
import { jfluid, startJfluid, stderrLine } from '../support/jfluid.ts'
import { Terminal } from '../support/terminal.ts'

async function start(jdk: Jdk, ...options: string[]) {
  const java = startJava(jdk, [...options, '-cp', await compileFixture(jdk, 'Sampled'), 'fix.Sampled'])
  await java.line(/^ready/)
  return java
}

forEachJdk((jdk) => {
  it('jfluid why keeps its samples if the JVM ends or Ctrl-C is pressed', async () => {
    const java = await start(jdk)
    const interrupted = Terminal.jfluid(['why', `${java.pid}`, '--duration', '60s'])
    await interrupted.until((lines) => lines.some((it) => / [1-9]\d* samples /.test(it)))
    // The shell of the terminal ends with 130 after Ctrl-C, whatever the exit code of the command is.
    process.kill(interrupted.processes().at(-1)!, 'SIGINT')
    expect((await interrupted.exit).code).toBe(0)
    expect(interrupted.scrollback().join('\n')).toContain('fix.Sampled.')
    const cut = startJfluid('why', `${java.pid}`, '--duration', '60s')
    await stderrLine(cut, /^sampling/)
    await java.kill()
    expect((await cut.exit).code).toBe(68)
    expect(cut.stderr()).toContain('the process has ended')
  })

  it('jfluid why requires --yes if the JVM has many threads, takes at most two long dumps, and names the flight recorder', async () => {
    const java = startJava(jdk, ['-cp', await compileFixture(jdk, 'Deep'), 'fix.Deep', '2000', '200'])
    await java.line(/^ready/)
    const refused = await jfluid('why', `${java.pid}`)
    expect([refused.code, refused.stdout]).toEqual([75, ''])
    expect(refused.stderr).toContain('Add --yes to take thread dumps.')
    const { code, stdout, stderr } = await jfluid('why', `${java.pid}`, '--yes')
    expect(code, stderr).toBe(0)
    const sampler = jdk.version < 23 ? ' --sampler jfr' : ''
    expect(stdout).toMatch(/^[\d,]+ +fix\.Deep .*; [12] thread dumps? stopped the JVM for /)
    expect(stdout).toMatch(
      new RegExp(
        `^[12] thread dumps? stopped the JVM for more than 50 ms, so fewer were taken; .* --mode sample${sampler}`,
        'm',
      ),
    )
  })
})
