// Each measure once, by `record` of one program.

import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type JavaProcess, temporaryDirectory } from '../support/java-process.ts'
import { forNewestJdk } from '../support/jdks.ts'
import { readProfileJson } from '../support/jfluid.ts'
import { WAYS } from './ways.ts'
import { quit, recordAtWork, startAtRest } from './whole-jvm-samples.ts'

forNewestJdk((jdk) => {
  let java: JavaProcess

  beforeAll(async () => {
    java = await startAtRest(jdk)
  })

  afterAll(() => quit(java))

  it.each(WAYS)('%s', { timeout: 60_000 }, async (_, flags, answer) => {
    const out = join(temporaryDirectory('jfluid-measures-'), 'p.jfluid')
    const ran = await recordAtWork(java, '500ms', ...flags, '--out', out)
    expect(ran.code, ran.stderr).toBe(0)
    expect(answer(await readProfileJson(out))).toBeGreaterThan(0)
  })
})
