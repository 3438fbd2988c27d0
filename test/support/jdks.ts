// The JDKs for live tests: those of this machine, and those that `npm run jdks` has fetched (test/jdks/fetch.mjs). Tests download none.
//
// Each feature version counts once, for any number of symbolic links and variables. The smoke lane uses the newest JDK of the machine,
// the live lane the oldest and the newest, `test:full` all, and in tests with `forEachTarget` also runtimes and fetched JDKs.
// JFLUID_TEST_JDK=17 uses only that version.

import { accessSync, constants, existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { TARGETS } from '../jdks/table-text.mjs'
import { cacheDirectory } from './cache.ts'
import { FULL, LANE } from './lane.ts'
import { describeOnlyIf } from './only-if.ts'

export interface Jdk {
  /** Directory above `bin`, symbolic links resolved. */
  home: string
  java: string
  /** `javac` of this JDK, or of another JDK if this one is a runtime. */
  javac: string
  /** Directory with `jar`, `javap` and others: as for `javac`. */
  tools: string
  /** Whether this JDK has neither `javac` nor other tools nor the debugger's agent. */
  isRuntime: boolean
  /** Feature version: 17, 21, 25, … */
  version: number
  /** Full version from the `release` file: 17.0.15. */
  full: string
  /** Vendor from the `release` file; empty if it has none. */
  vendor: string
  /** Root directory in which the commands run, in a mount namespace of their own (test/jdks/fetch.mjs); null without a chroot. */
  root: string | null
}

const OLDEST_TARGET = Math.min(...TARGETS)

/** The oldest JDK that runs the programs of all tests, which are written in Java 17. */
const MINIMUM = 17

/** Directory of the fetched JDKs. */
const FETCHED = join(cacheDirectory(), 'jdks')

/** Homes on this machine, then those of the fetched JDKs. */
function candidates(): string[] {
  const homes: string[] = []
  for (const variable of ['JAVA_HOME', 'JDK_HOME']) {
    const home = process.env[variable]
    if (home) homes.push(home)
  }
  for (const folder of [process.env.JFLUID_JDKS ?? '/usr/lib/jvm', '/opt/java', '/opt/jdk']) {
    if (existsSync(folder)) for (const name of readdirSync(folder)) homes.push(join(folder, name))
  }
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const javac = join(folder, 'javac')
    if (folder && existsSync(javac)) homes.push(dirname(dirname(realpathSync(javac))))
  }
  return homes
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Returns the JDK in a directory. The tools of a runtime are not known yet: see `withTools`. */
function jdkAt(home: string): Jdk | undefined {
  let release: string
  let real: string
  try {
    real = realpathSync(home)
    release = readFileSync(join(real, 'release'), 'utf8')
  } catch {
    return undefined
  }
  const full = /^JAVA_VERSION="([^"]+)"/m.exec(release)?.[1]
  const vendor = /^IMPLEMENTOR="([^"]+)"/m.exec(release)?.[1] ?? ''
  const tools = join(real, 'bin')
  const java = join(tools, 'java')
  const javac = join(tools, 'javac')
  if (full === undefined || !isExecutable(java)) return undefined
  const version = Number.parseInt(full, 10)
  const root = existsSync(join(real, 'root')) ? realpathSync(join(real, 'root')) : null
  return { home: real, java, javac, tools, isRuntime: !isExecutable(javac), version, full, vendor, root }
}

/** Returns the first JDK of each version; a runtime only for a version without a JDK that has all tools. */
function findJdks(homes: readonly string[]): Jdk[] {
  const found = homes.flatMap((home) => jdkAt(home) ?? []).filter(({ version }) => version >= OLDEST_TARGET)
  const byVersion = new Map<number, Jdk>()
  for (const jdk of [...found.filter((it) => !it.isRuntime), ...found.filter((it) => it.isRuntime)])
    if (!byVersion.has(jdk.version)) byVersion.set(jdk.version, jdk)
  return [...byVersion.values()].sort((a, b) => a.version - b.version)
}

const isComplete = ({ isRuntime, version }: Jdk): boolean => !isRuntime && version >= MINIMUM

/** Gives each runtime the tools of a JDK of this machine: of the oldest that is not older, since it compiles for that release. */
function withTools(all: readonly Jdk[], ofMachine: readonly Jdk[]): Jdk[] {
  const complete = ofMachine.filter(isComplete)
  return all.map((jdk) => {
    const owner = complete.find(({ version }) => version >= jdk.version) ?? complete.at(-1)
    if (!jdk.isRuntime || owner === undefined) return jdk
    return { ...jdk, javac: owner.javac, tools: owner.tools }
  })
}

interface Found {
  /** JDKs of the machine with all tools. */
  readonly installed: readonly Jdk[]
  /** These, runtimes, and fetched JDKs. */
  readonly all: readonly Jdk[]
}

function found(): Found {
  if (LANE === 'unit') {
    throw new Error('the unit lane has no JDK: a test that needs one is named *.jvm.test.ts')
  }
  const ofMachine = findJdks(candidates())
  const installed = ofMachine.filter(isComplete)
  if (installed.length === 0) {
    throw new Error(`no JDK ${MINIMUM} or newer with javac found in JAVA_HOME, /usr/lib/jvm or PATH`)
  }
  const fetched = existsSync(FETCHED) ? readdirSync(FETCHED).map((name) => join(FETCHED, name)) : []
  const all = findJdks([...ofMachine.map(({ home }) => home), ...fetched])
  return { installed, all: withTools(all, ofMachine) }
}

/** Returns the JDKs of the machine that this lane uses, or the selected JDK. */
function ofThisLane({ installed, all }: Found): readonly Jdk[] {
  const only = wanted(all)
  if (only !== null) return [only]
  if (LANE === 'smoke' && !FULL) return installed.slice(-1)
  return FULL || installed.length < 3 ? installed : [installed[0], installed[installed.length - 1]]
}

/** Returns the JDK that JFLUID_TEST_JDK selects; null without this variable. */
function wanted(all: readonly Jdk[]): Jdk | null {
  const version = process.env.JFLUID_TEST_JDK
  if (version === undefined) return null
  const jdk = all.find((it) => String(it.version) === version)
  if (jdk === undefined) {
    throw new Error(
      `no JDK ${version} on this machine; there are ${all.map((it) => it.version).join(', ')}; npm run jdks fetches others`,
    )
  }
  return jdk
}

const here = found()

/** JDKs of this lane, sorted by version. */
export const jdks: readonly Jdk[] = ofThisLane(here)
export const oldest: Jdk = jdks[0]
export const newest: Jdk = jdks[jdks.length - 1]

/** All JDKs that were found, also runtimes and fetched JDKs, or the selected JDK. Sorted by version. */
export const targets: readonly Jdk[] = [wanted(here.all) ?? here.all].flat()

if (process.env.JFLUID_TEST_JDKS_TOLD === undefined) {
  process.env.JFLUID_TEST_JDKS_TOLD = '1' // modules are loaded once per test file, but a worker process runs several test files
  console.info(`live tests use ${jdks.map((jdk) => `JDK ${jdk.full}`).join(' and ')}`)
}

/** Calls `describe` for each JDK, with its version in the title. */
export function forEachJdk(body: (jdk: Jdk) => void): void {
  describeFor(jdks, body)
}

/**
 * Calls `describe` like forEachJdk; in `test:full` also for runtimes and fetched JDKs. Tests that need a debugger, other tools of a JDK,
 * or another user are skipped on a JDK that lacks them (`isRuntime`, `root`).
 *
 * @param from  oldest JDK that runs the programs of these tests
 */
export function forEachTarget(body: (jdk: Jdk) => void, from = MINIMUM): void {
  describeFor(targetsOr(jdks, from), body)
}

/** Calls `describe` like forNewestJdk; in `test:full` for the same JDKs as forEachTarget. */
export function forNewestTarget(body: (jdk: Jdk) => void, from = MINIMUM): void {
  describeFor(targetsOr([newest], from), body)
}

function targetsOr(usual: readonly Jdk[], from: number): readonly Jdk[] {
  return FULL ? targets.filter(({ version }) => version >= from) : usual
}

/** Calls `describe` like forOldestJdk; in `test:full` for the same JDKs as forEachTarget. */
export function forOldestTarget(body: (jdk: Jdk) => void): void {
  describeFor(targetsOr([oldest], MINIMUM), body)
}

/**
 * For behaviour that does not depend on the JDK: one JDK, or all in the full lane. Some tests use the newest and some the oldest,
 * so that both are used. Also for long files about behaviour of the JVM, whose tests on all JDKs would take too long for the live lane.
 */
export const newestOrAll: readonly Jdk[] = FULL ? jdks : [newest]
export const oldestOrAll: readonly Jdk[] = FULL ? jdks : [oldest]

/** Calls `describe` like forEachJdk, for the JDKs of `newestOrAll` or `oldestOrAll`. */
export function forNewestJdk(body: (jdk: Jdk) => void): void {
  describeFor(newestOrAll, body)
}

export function forOldestJdk(body: (jdk: Jdk) => void): void {
  describeFor(oldestOrAll, body)
}

interface Meant {
  readonly from?: number
  readonly before?: number
  /** Reason why other JDKs are excluded. */
  readonly reason: string
}

/** Calls `describe` like forEachJdk, for these JDKs only. If none of these JDKs exists, the tests are skipped with this reason. */
export function forJdks(
  { from = 0, before = Number.POSITIVE_INFINITY, reason }: Meant,
  body: (jdk: Jdk) => void,
): void {
  const meant = jdks.filter(({ version }) => version >= from && version < before)
  if (meant.length > 0) describeFor(meant, body)
  else describeOnlyIf(false, reason)('on no JDK', () => body(newest))
}

function describeFor(which: readonly Jdk[], body: (jdk: Jdk) => void): void {
  for (const jdk of which) {
    const canStart = jdk.root === null || process.geteuid?.() === 0
    describeOnlyIf(canStart, 'runs in a chroot, which needs root')(`tests on JDK ${jdk.version}`, () =>
      body(jdk),
    )
  }
}
