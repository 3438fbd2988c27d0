// Each measure is recorded once by `record`, all with the same program.

import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type JavaProcess, temporaryDirectory } from '../support/java-process.ts'
import { forNewestJdk } from '../support/jdks.ts'
import { readProfileJson } from '../support/jfluid.ts'
import { BY_JVM, type Way, WITH_PROBES } from './ways.ts'
import { quit, recordAtWork, startAtRest, type Work } from './whole-jvm-samples.ts'

forNewestJdk((jdk) => {
  let java: JavaProcess

  beforeAll(async () => {
    java = await startAtRest(jdk)
  })

  afterAll(() => quit(java))

  const measure = async (work: Work, [, flags, answer]: Way): Promise<void> => {
    const out = join(temporaryDirectory('jfluid-measures-'), 'p.jfluid')
    const ran = await recordAtWork(java, work, '500ms', ...flags, '--out', out)
    expect(ran.code, ran.stderr).toBe(0)
    expect(answer(await readProfileJson(out))).toBeGreaterThan(0)
  }
  const timeout = 60_000

  it.each(WITH_PROBES)('record works with %s', { timeout }, (...way) => measure('while it records', way))
  // In such a short recording there may be only one thread dump.
  it.each(BY_JVM)('record works for %s', { timeout }, (...way) => measure('from the start', way))
})
