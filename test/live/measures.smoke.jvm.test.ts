// Each measure once, by `record` of one program.

import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { compileFixture } from '../fixtures/fixtures.ts'
import { type JavaProcess, startJava, temporaryDirectory } from '../support/java-process.ts'
import { forNewestJdk } from '../support/jdks.ts'
import { jfluid, readProfileJson } from '../support/jfluid.ts'
import { WAYS } from './ways.ts'

forNewestJdk((jdk) => {
  let java: JavaProcess

  beforeAll(async () => {
    java = startJava(jdk, ['-cp', await compileFixture(jdk, 'Sampled'), 'fix.Sampled'])
    await java.line(/^ready/)
  })

  afterAll(async () => {
    java.child.stdin?.end() // its own end removes what its flight recorder has left; being killed does not
    await java.exit
  })

  it.each(WAYS)('%s', { timeout: 60_000 }, async (_, flags, answer) => {
    const out = join(temporaryDirectory('jfluid-measures-'), 'p.jfluid')
    const ran = await jfluid('record', `${java.pid}`, ...flags, '--duration', '500ms', '--out', out)
    expect(ran.code, ran.stderr).toBe(0)
    expect(answer(await readProfileJson(out))).toBeGreaterThan(0)
  })
})
