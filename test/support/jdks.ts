// The JDKs for live tests, found on this machine and never downloaded.
//
// Each feature version counts once, for any number of symbolic links and variables. The smoke lane uses the newest JDK, the
// live lane the oldest and the newest, `test:full` all. JFLUID_TEST_JDK=17 uses only that version.

import { accessSync, constants, existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { describe } from 'vitest'
import { FULL, LANE } from './lane.ts'
import { describeOnlyIf } from './only-if.ts'

export interface Jdk {
  /** Directory above `bin`, symbolic links resolved. */
  home: string
  java: string
  javac: string
  /** Feature version: 17, 21, 25, … */
  version: number
  /** Full version from the `release` file: 17.0.15. */
  full: string
}

/** The oldest supported JDK. */
const MINIMUM = 17

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
  const java = join(real, 'bin', 'java')
  const javac = join(real, 'bin', 'javac')
  if (full === undefined || !isExecutable(java) || !isExecutable(javac)) return undefined
  const version = Number.parseInt(full, 10)
  return version >= MINIMUM ? { home: real, java, javac, version, full } : undefined
}

function findJdks(): Jdk[] {
  if (LANE === 'unit') {
    throw new Error('the unit lane has no JDK: a test that needs one is named *.jvm.test.ts')
  }
  const byVersion = new Map<number, Jdk>()
  for (const home of candidates()) {
    const jdk = jdkAt(home)
    if (jdk !== undefined && !byVersion.has(jdk.version)) byVersion.set(jdk.version, jdk)
  }
  if (byVersion.size === 0) {
    throw new Error(`no JDK ${MINIMUM} or newer with javac found in JAVA_HOME, /usr/lib/jvm or PATH`)
  }
  return [...byVersion.values()].sort((a, b) => a.version - b.version)
}

function ofThisLane(found: readonly Jdk[]): readonly Jdk[] {
  const wanted = process.env.JFLUID_TEST_JDK
  if (wanted !== undefined) {
    const jdk = found.find(({ version }) => String(version) === wanted)
    if (jdk === undefined) {
      throw new Error(
        `no JDK ${wanted} on this machine; there are ${found.map((it) => it.version).join(', ')}`,
      )
    }
    return [jdk]
  }
  if (LANE === 'smoke' && !FULL) return found.slice(-1)
  return FULL || found.length < 3 ? found : [found[0], found[found.length - 1]]
}

/** JDKs of this lane, sorted by version. */
export const jdks: readonly Jdk[] = ofThisLane(findJdks())
export const oldest: Jdk = jdks[0]
export const newest: Jdk = jdks[jdks.length - 1]

if (process.env.JFLUID_TEST_JDKS_TOLD === undefined) {
  process.env.JFLUID_TEST_JDKS_TOLD = '1' // modules are loaded once per test file, but a worker process runs several test files
  console.info(`live tests use ${jdks.map((jdk) => `JDK ${jdk.full}`).join(' and ')}`)
}

/** Calls `describe` for each JDK, with its version in the title. */
export function forEachJdk(body: (jdk: Jdk) => void): void {
  describeFor(jdks, body)
}

/**
 * For behaviour that does not depend on the JDK: one JDK, or all in the full lane. Some tests use the newest and some the oldest,
 * so that both are used. Behaviour that depends on the JVM is tested on all.
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
  describe.each(which.map((jdk) => [jdk.version, jdk] as const))('tests on JDK %i', (_, jdk) => body(jdk))
}
