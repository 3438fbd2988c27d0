// Counts calls with an agent that is loaded at the start of the JVM and rewrites every class with ASM: see counting-agent/Agent.java. This
// agent rewrites all methods, redefines nothing during the run, and shares no code with jfluid.
//
// ASM comes from Maven Central, so only the full tests use this agent. The oracle in oracle.ts needs only a JDK.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createReadStream, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { compileJava, startJava, temporaryDirectory } from '../support/java-process.ts'
import type { Jdk } from '../support/jdks.ts'
import { type Artifact, mavenArtifact } from '../support/maven.ts'
import type { Row } from './call-tree.ts'

/** 9.8 is the first version that can read class files of JDK 25. */
const ASM: readonly Artifact[] = [
  {
    coordinates: 'org.ow2.asm:asm:9.8',
    sha256: '876eab6a83daecad5ca67eb9fcabb063c97b5aeb8cf1fca7a989ecde17522051',
  },
  {
    coordinates: 'org.ow2.asm:asm-commons:9.8',
    sha256: '3301a1c1cb4c59fcc5292648dac1d7c5aed4c0f067dfbe88873b8cdfe77404f4',
  },
]

export interface CountingAgent {
  readonly agent: string
  readonly recorder: string
}

export interface CountRequest {
  jdk: Jdk
  classpath: string
  mainClass: string
  args?: readonly string[]
  vmOptions?: readonly string[]
  /** `class.method`, optionally with `(descriptor)`. A nested class is written with `$`, as in the JVM. */
  root: string
  /** Lines for the program's stdin, which is closed afterwards. */
  send: readonly string[]
  /** Whether JDK classes are counted as well. */
  jdkClasses?: boolean
}

export interface Counted {
  /** One tree per outermost call of a root, in the order of these calls in each thread. */
  readonly runs: readonly (readonly Row[])[]
  /** Called methods that C2 may replace by its own code. */
  readonly intrinsics: ReadonlySet<string>
  /** Classes that could not be rewritten, with the reason. */
  readonly failed: readonly string[]
  /** Output of the program. */
  readonly stdout: string
}

const sources = join(dirname(fileURLToPath(import.meta.url)), 'counting-agent')

/** Compiles the agent. Its jars are deleted at the end of the test file. */
export async function buildCountingAgent(jdk: Jdk): Promise<CountingAgent> {
  const dir = temporaryDirectory('jfluid-counting-')
  const run = promisify(execFile)
  const jar = join(jdk.tools, 'jar')
  const asm = await Promise.all(ASM.map((it) => mavenArtifact(it)))
  const classes = join(dir, 'classes')
  mkdirSync(classes)
  for (const file of asm) await run(jar, ['xf', file, 'org'], { cwd: classes })
  const recorderClasses = await compileJava(jdk, {}, { options: [join(sources, 'Recorder.java')] })
  await compileJava(
    jdk,
    {},
    {
      outDir: classes,
      options: [
        ...['-cp', `${classes}:${recorderClasses}`, '-implicit:none'],
        ...['Agent', 'Transformer', 'CountingMethod'].map((it) => join(sources, `${it}.java`)),
      ],
    },
  )
  const manifest = join(dir, 'manifest')
  writeFileSync(manifest, 'Premain-Class: counting.Agent\nCan-Retransform-Classes: true\n')
  const built = { agent: join(dir, 'agent.jar'), recorder: join(dir, 'recorder.jar') }
  await run(jar, [...['cfm', built.agent, manifest], ...['-C', classes, 'counting', '-C', classes, 'org']])
  await run(jar, ['cf', built.recorder, '-C', recorderClasses, '.'])
  return built
}

/** @throws Error if the program does not end with exit code 0 */
export async function countCallsByAgent(
  { agent, recorder }: CountingAgent,
  { jdk, classpath, mainClass, args = [], vmOptions = [], root, send, jdkClasses = false }: CountRequest,
): Promise<Counted> {
  const out = join(temporaryDirectory('jfluid-counts-'), 'counts')
  const options = [`recorder=${recorder}`, `out=${out}`, `root=${root}`, ...(jdkClasses ? ['jdk'] : [])]
  const java = startJava(jdk, [
    ...vmOptions,
    `-javaagent:${agent}=${options.join(',')}`,
    ...['-cp', classpath, mainClass, ...args],
  ])
  for (const line of send) java.send(line)
  java.child.stdin?.end()
  const { code } = await java.exit
  assert.equal(code, 0, `${mainClass} failed:\n${java.stdout()}${java.stderr()}`)
  return { ...(await read(out)), stdout: java.stdout() }
}

async function read(file: string): Promise<Omit<Counted, 'stdout'>> {
  const runs: { caller: number; method: number; calls: number }[][] = []
  /** Run and row of each context, per thread. */
  const places = new Map<string, Map<string, [number, number]>>()
  const names: string[] = []
  const intrinsics = new Set<string>()
  const failed: string[] = []
  for await (const line of createInterface({ input: createReadStream(file) })) {
    const [kind, ...fields] = line.split(' ')
    if (kind === 'method') {
      names[Number(fields[0])] = fields[2]
      if (fields[1] === 'i') intrinsics.add(fields[2])
    } else if (kind === 'failed') failed.push(fields.join(' '))
    else {
      const [thread, context, caller, method, calls] = fields
      const own = places.get(thread) ?? new Map<string, [number, number]>()
      places.set(thread, own)
      if (kind === 'run') {
        own.set(context, [runs.length, -1])
        runs.push([])
      } else {
        const [run, row] = own.get(caller) ?? [-1, -1]
        own.set(context, [run, runs[run].length])
        runs[run].push({ caller: row, method: Number(method), calls: Number(calls) })
      }
    }
  }
  return {
    runs: runs.map((rows) => rows.map((it) => ({ ...it, method: names[it.method] }))),
    intrinsics,
    failed,
  }
}
