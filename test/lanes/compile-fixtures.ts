// Before a lane with JVMs: all fixtures are compiled, in one run of javac for each JDK. Later runs find them in the cache.

import { compileFixture } from '../fixtures/fixtures.ts'
import { jdks } from '../support/jdks.ts'

export default async function setup(): Promise<void> {
  await Promise.all(jdks.map((jdk) => compileFixture(jdk, 'KnownTree')))
}
