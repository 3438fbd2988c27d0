// Around a lane with JVMs. Before it all fixtures are compiled, in one run of javac for each JDK; later runs find them in the cache. After
// it what files of the lane have compiled for each other goes.

import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { compileFixture } from '../fixtures/fixtures.ts'
import { jdks } from '../support/jdks.ts'

export default async function setup(): Promise<() => void> {
  const classes = mkdtempSync(join(tmpdir(), 'jfluid-lane-'))
  chmodSync(classes, 0o755) // JVMs of other users run what is in there
  process.env.JFLUID_TEST_CLASSES = classes
  await Promise.all(jdks.map((jdk) => compileFixture(jdk, 'KnownTree')))
  return () => rmSync(classes, { recursive: true, force: true })
}
