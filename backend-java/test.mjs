// Tests the Java parts that need no target: one javac run compiles agent, runtime and their tests, and one JVM runs the tests.
//
// In that JVM, the runtime and its tests are a part of java.base (--patch-module), as in a target. The agent and its tests are on the class
// path. Both can access the test harness.

import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findJdk, javaSources } from './jdk.mjs'

const here = dirname(fileURLToPath(import.meta.url))
const jdk = findJdk()
if (jdk === null) {
  console.error('jfluid: cannot test the agent: no JDK 17 or newer found')
  console.error('  Install a JDK, or point JAVA_HOME at one.')
  process.exit(72) // EX_OSFILE, src/base/errors.ts
}

const folders = ['runtime', 'runtime-stubs', 'agent', 'test/check', 'test/runtime', 'test/agent']
const dirs = folders.map((folder) => join(here, folder))
const tests = dirs.flatMap((dir) =>
  javaSources(dir)
    .filter((file) => file.endsWith('Test.java'))
    .map((file) => relative(dir, file).slice(0, -'.java'.length).split(sep).join('.')),
)

/** @returns the exit status; the command inherits this process's output streams */
function run(command, args) {
  const { status, signal, error } = spawnSync(command, args, { stdio: ['ignore', 'inherit', 'inherit'] })
  if (error) throw error
  if (signal !== null) console.error(`jfluid: ${command} was ended by ${signal}`)
  return status ?? 70 // EX_SOFTWARE
}

const work = mkdtempSync(join(tmpdir(), 'jfluid-java-tests-'))
try {
  const [base, path] = [join(work, 'base'), join(work, 'path')]
  // The agent is compiled as a part of java.base only here, so that one javac is enough.
  const modules = 'java.instrument,java.management,jdk.management'
  const options = [
    '-g',
    '-proc:none',
    '-Xlint:-options',
    '-XDstringConcat=inline',
    '-source',
    '11',
    '-target',
    '11',
  ]
  const access = ['--add-modules', modules, '--add-reads', `java.base=${modules}`]
  const patch = ['--patch-module', `java.base=${dirs.join(delimiter)}`]
  const quick = ['-J-XX:TieredStopAtLevel=1', '-J-XX:+UseSerialGC']
  process.exitCode = run(jdk.javac, [
    ...quick,
    ...options,
    ...access,
    ...patch,
    '-d',
    base,
    ...dirs.flatMap(javaSources),
  ])
  if (process.exitCode === 0) {
    rmSync(join(base, 'jdk'), { recursive: true })
    mkdirSync(join(path, 'jfluid'), { recursive: true })
    for (const name of ['agent', 'api']) renameSync(join(base, 'jfluid', name), join(path, 'jfluid', name))
    const exported = ['jdk.internal.misc', 'jfluid.check'].flatMap((name) => [
      '--add-exports',
      `java.base/${name}=ALL-UNNAMED`,
    ])
    process.exitCode = run(jdk.java, [
      '-XX:TieredStopAtLevel=1',
      '-Xbatch', // compiles entry and exit probes in the same round of JFluid1StackTest, also on a busy machine
      '-XX:+UseSerialGC',
      '-Xmx256m',
      '-XX:-PrintWarnings', // omits one warning per probe that has run on the reserved stack (JFluid1StackTest)
      '--patch-module',
      `java.base=${base}`,
      ...exported,
      ...access,
      '-cp',
      path,
      'jfluid.check.Main',
      ...tests,
    ])
  }
} finally {
  rmSync(work, { recursive: true, force: true })
}
