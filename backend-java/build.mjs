// Builds dist/agent/jfluid-agent.jar with javac and jar of any JDK 17 or newer. An optional argument names another output folder. The three
// parts have three class paths. The runtime is compiled as a part of java.base, the agent against java.base with the runtime in it, boot
// against nothing. In the jar, the agent is under agent/ and the runtime under runtime/, so that no class loader finds their classes by
// accident: Boot defines the agent in a loader of its own, and the agent defines the runtime in the bootstrap loader. Agent and runtime
// have the language level and the class file version of Java 11. Boot has those of Java 8, since an agent option may load it into a JVM of
// any version. `--release` is not used: with it, javac refuses --patch-module and --add-exports for java.base.

import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findJdk } from './jdk.mjs'

const here = dirname(fileURLToPath(import.meta.url))
const out = process.argv[2] ?? join(here, '..', 'dist', 'agent')

function filesUnder(dir, extension) {
  return readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(extension))
    .sort()
    .map((name) => join(dir, name))
}

const jdk = findJdk()
if (jdk === null) {
  console.error('jfluid: cannot build the agent: no JDK 17 or newer found (javac and jar)')
  console.error('  Install a JDK, or point JAVA_HOME at one, and run npm run build again.')
  process.exit(72) // EX_OSFILE, src/base/errors.ts
}

const work = mkdtempSync(join(tmpdir(), 'jfluid-build-'))
try {
  // -Xlint:-options: javac warns that `-source` alone does not choose the classes of the older JDK.
  const javac = (level, ...args) => {
    const quick = ['-J-XX:TieredStopAtLevel=1', '-J-XX:+UseSerialGC'] // these options halve the processor time
    const options = [
      ...quick,
      '-g',
      '-Xlint:-options',
      '-XDstringConcat=inline',
      '-source',
      level,
      '-target',
      level,
    ]
    execFileSync(jdk.javac, [...options, ...args], { stdio: ['ignore', 'inherit', 'inherit'] })
  }
  const stage = join(work, 'stage')
  const runtime = join(work, 'runtime')
  javac(
    '11',
    '--patch-module',
    `java.base=${join(here, 'runtime')}${delimiter}${join(here, 'runtime-stubs')}`,
    '-d',
    runtime,
    ...filesUnder(join(here, 'runtime'), '.java'),
    ...filesUnder(join(here, 'runtime-stubs'), '.java'),
  )
  rmSync(join(runtime, 'jdk'), { recursive: true })
  javac(
    '11',
    '--patch-module',
    `java.base=${runtime}`,
    '--add-exports',
    'java.base/jdk.internal.misc=ALL-UNNAMED',
    '-d',
    join(stage, 'agent'),
    ...filesUnder(join(here, 'agent'), '.java'),
  )
  javac('8', '-d', stage, ...filesUnder(join(here, 'boot'), '.java'))
  cpSync(runtime, join(stage, 'runtime'), { recursive: true })

  // The identity of a runtime is its code: two builds with equal probes can share a JVM.
  const hash = (files) => {
    const sum = createHash('sha256')
    for (const file of files) sum.update(readFileSync(file))
    return sum.digest('hex').slice(0, 16)
  }
  writeFileSync(join(stage, 'runtime', 'id'), hash(filesUnder(runtime, '.class')))

  const build = hash(filesUnder(stage, '.class'))
  writeFileSync(join(stage, 'runtime', 'build'), build)

  mkdirSync(out, { recursive: true })
  const manifest = join(work, 'MANIFEST.MF')
  writeFileSync(
    manifest,
    [
      'Agent-Class: jfluid.Boot',
      'Premain-Class: jfluid.Boot',
      'Launcher-Agent-Class: jfluid.Boot',
      'Can-Redefine-Classes: true',
      'Can-Retransform-Classes: true',
      '',
    ].join('\n'),
  )
  const jar = join(out, 'jfluid-agent.jar')
  execFileSync(jdk.jar, ['--create', '--file', jar, '--manifest', manifest, '-C', stage, '.'])
  // Hash that the client compares with the jar before a target loads the jar.
  writeFileSync(join(out, 'sha256'), createHash('sha256').update(readFileSync(jar)).digest('hex'))
  writeFileSync(join(out, 'build-id'), build)
  writeFileSync(join(out, 'built-with'), execFileSync(jdk.javac, ['-version'], { encoding: 'utf8' }).trim())
  // Classes against which a user's profiler is compiled.
  const api = ['-C', join(stage, 'agent'), 'jfluid/api']
  execFileSync(jdk.jar, ['--create', '--file', join(out, 'jfluid-api.jar'), '--no-manifest', ...api])
} catch (error) {
  // javac and jar print their own errors. Only the failure to start a command is printed here.
  if (!error.status) console.error(`${error}`)
  console.error('jfluid: the agent did not compile')
  process.exitCode = 70
} finally {
  rmSync(work, { recursive: true, force: true })
}
