// Builds dist/agent/jfluid-agent.jar with javac and jar of whatever JDK >= 17 there is.
//
// Three parts, three class paths: the runtime is compiled as if it were part of java.base; the agent
// against java.base with the runtime in it; boot against nothing. In the jar the agent lies under
// agent/ and the runtime under runtime/, so that no class loader finds them by accident: Boot defines
// the former in a loader of its own, the agent defines the latter in the bootstrap loader.

import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findJdk } from './jdk.mjs'

const here = dirname(fileURLToPath(import.meta.url))
const out = join(here, '..', 'dist', 'agent')

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
  const javac = (...args) => {
    execFileSync(
      jdk.javac,
      [
        '-nowarn',
        '-g',
        '-Xlint:-options',
        '-XDstringConcat=inline',
        '-source',
        '17',
        '-target',
        '17',
        ...args,
      ],
      {
        stdio: ['ignore', 'inherit', 'pipe'],
      },
    )
  }
  const stage = join(work, 'stage')
  const runtime = join(work, 'runtime')
  javac(
    '--patch-module',
    `java.base=${join(here, 'runtime')}${delimiter}${join(here, 'runtime-stubs')}`,
    '-d',
    runtime,
    ...filesUnder(join(here, 'runtime'), '.java'),
    ...filesUnder(join(here, 'runtime-stubs'), '.java'),
  )
  rmSync(join(runtime, 'jdk'), { recursive: true })
  javac(
    '--patch-module',
    `java.base=${runtime}`,
    '--add-exports',
    'java.base/jdk.internal.misc=ALL-UNNAMED',
    '-d',
    join(stage, 'agent'),
    ...filesUnder(join(here, 'agent'), '.java'),
  )
  // The option that names it may reach JVMs of any version, which must start all the same.
  javac('-source', '8', '-target', '8', '-d', stage, ...filesUnder(join(here, 'boot'), '.java'))
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
  // What the client holds the jar against before it has it loaded.
  writeFileSync(join(out, 'sha256'), createHash('sha256').update(readFileSync(jar)).digest('hex'))
  writeFileSync(join(out, 'build-id'), build)
  writeFileSync(join(out, 'built-with'), execFileSync(jdk.javac, ['-version'], { encoding: 'utf8' }).trim())
  // What a profiler of the user's is compiled against.
  const api = ['-C', join(stage, 'agent'), 'jfluid/api']
  execFileSync(jdk.jar, ['--create', '--file', join(out, 'jfluid-api.jar'), '--no-manifest', ...api])
} catch (error) {
  process.stderr.write(error.stderr ?? `${error}\n`)
  console.error('jfluid: the agent did not compile')
  process.exitCode = 70
} finally {
  rmSync(work, { recursive: true, force: true })
}
