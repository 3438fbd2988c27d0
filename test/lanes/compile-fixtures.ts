// Global setup of a lane with JVMs. Before the lane, javac compiles all fixtures once per JDK; later runs use the cache. After
// the lane, the classes that test files compiled for each other are removed.

import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { compileFixture } from '../fixtures/fixtures.ts'
import { jdks } from '../support/jdks.ts'

export default async function setup(): Promise<() => void> {
  const classes = mkdtempSync(join(tmpdir(), 'jfluid-lane-'))
  chmodSync(classes, 0o755) // JVMs of other users run these classes
  process.env.JFLUID_TEST_CLASSES = classes
  await Promise.all(jdks.map((jdk) => compileFixture(jdk, 'KnownTree')))
  return () => rmSync(classes, { recursive: true, force: true })
}
