// The command jfluid roots, ended before its duration is over.

import { setTimeout } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { compileFixture } from '../fixtures/fixtures.ts'
import { startJava } from '../support/java-process.ts'
import { forEachJdk, type Jdk } from '../support/jdks.ts'
import { startJfluid, stderrLine } from '../support/jfluid.ts'

async function start(jdk: Jdk, ...options: string[]) {
  const java = startJava(jdk, [...options, '-cp', await compileFixture(jdk, 'Sampled'), 'fix.Sampled'])
  await java.line(/^ready/)
  return java
}

forEachJdk((jdk) => {
  it('jfluid roots keeps its samples if the JVM ends or Ctrl-C is pressed', async () => {
    const java = await start(jdk)
    const interrupted = startJfluid('roots', `${java.pid}`, '--duration', '60s')
    await stderrLine(interrupted, /^sampling/)
    await setTimeout(2_000) // time for some samples
    interrupted.child.kill('SIGINT')
    expect((await interrupted.exit).code).toBe(0)
    expect(interrupted.stdout()).toContain('fix.Sampled.')
    const cut = startJfluid('roots', `${java.pid}`, '--duration', '60s')
    await stderrLine(cut, /^sampling/)
    await java.kill()
    expect((await cut.exit).code).toBe(68)
    expect(cut.stderr()).toContain('the process has ended')
  })
})
