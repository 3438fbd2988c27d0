// The lanes of the tests, read off the names of the files (CONTRIBUTING.md says what each lane is for).
//
//   foo.test.ts              unit    starts no JVM and no javac; many at a time
//   foo.jvm.test.ts          live    starts JVMs; two files at a time, so it asserts no times
//   foo.smoke.jvm.test.ts    smoke   starts JVMs, and is short: for `npm test`, on the newest JDK only
//   foo.alone.jvm.test.ts    alone   starts JVMs and asserts times: nothing else runs beside it
//   foo.full.test.ts         full    takes long or needs tools; with or without `.jvm` before `.test`
//
// `test/lanes/run.mjs` sets JFLUID_LANE and runs them one after the other. Without it (`npx vitest run some-file`) a file runs
// in its own lane.

import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'

const lane = process.env.JFLUID_LANE

const FULL = ['test/**/*.full.test.{ts,tsx}', 'test/**/*.full.jvm.test.ts']
const ALONE = ['test/**/*.alone.jvm.test.ts']
const SMOKE = ['test/**/*.smoke.jvm.test.ts']
const JVM = ['test/**/*.jvm.test.ts']

/** They mock modules, which other files have as they are, or measure what is allocated. */
const ISOLATED = [
  'test/attach/heap-room.test.ts',
  'test/base/debug-log.test.ts',
  'test/cct/slow-calls.test.ts',
  'test/commands/no-home.test.ts',
  'test/commands/session-source.test.ts',
  'test/events/decode.test.ts',
  'test/jdwp-client/packet.test.ts',
  'test/profile/source-race.test.ts',
  'test/remote/hosted-session.test.ts',
  'test/remote/hosted-steering.test.ts',
  'test/security/fuzz-wire.test.ts',
  'test/session/why/search.test.ts',
]

const FIXTURES = ['test/lanes/compile-fixtures.ts']

/** The same of the live lane. */
const LIVE_ISOLATED = ['test/live/debug-log.jvm.test.ts']

const OWN = ['test/lanes/own-processes.ts']

/**
 * Timeouts of a test, of a hook, and of a poll inside a test. No figures: a JVM start and an attach fit in a second, and a test without
 * a JVM in milliseconds. Beside other processes on all processors each takes many times as long.
 */
const WITH_JVM = { testTimeout: 120_000, hookTimeout: 120_000, expect: { poll: { timeout: 100_000 } } }
const NO_JVM = { testTimeout: 30_000, hookTimeout: 60_000, expect: { poll: { timeout: 25_000 } } }

const UNIT = ['test/**/*.test.{ts,tsx}']
const WITHOUT_JAVA = {
  globalSetup: ['test/lanes/path-without-java.ts'],
  setupFiles: ['test/lanes/no-java.ts', ...OWN],
  maxWorkers: availableParallelism(),
}

const projects = [
  // A process for many files: loading the sources again for each file takes a third of the lane.
  { name: 'unit', include: UNIT, exclude: [...JVM, ...FULL, ...ISOLATED], isolate: false, ...WITHOUT_JAVA },
  { name: 'unit isolated', include: ISOLATED, ...WITHOUT_JAVA },
  { name: 'smoke', include: SMOKE, globalSetup: FIXTURES, setupFiles: OWN, maxWorkers: 2 },
  {
    name: 'live',
    include: JVM,
    exclude: [...SMOKE, ...ALONE, ...FULL, ...LIVE_ISOLATED],
    isolate: false,
    globalSetup: FIXTURES,
    setupFiles: OWN,
    maxWorkers: 2,
  },
  { name: 'live isolated', include: LIVE_ISOLATED, globalSetup: FIXTURES, setupFiles: OWN, maxWorkers: 1 },
  { name: 'alone', include: ALONE, exclude: FULL, globalSetup: FIXTURES, setupFiles: OWN, maxWorkers: 1 },
  { name: 'full', include: FULL, globalSetup: FIXTURES, setupFiles: OWN, maxWorkers: 1 },
]

export default defineConfig({
  test: {
    reporters: ['default', './test/lanes/reporter.ts'],
    projects: projects
      .filter(({ name }) => lane === undefined || name.split(' ')[0] === lane)
      .map((project, groupOrder) => ({
        test: {
          ...project,
          ...(project.name.startsWith('unit') ? NO_JVM : WITH_JVM),
          sequence: { groupOrder },
        },
      })),
  },
})
