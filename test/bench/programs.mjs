// The programs of the report's tables (apps/tables) and of the suites DaCapo and Renaissance (apps/suite), each in a JVM that runs the
// program on request. Returns the durations of the runs: wall time, CPU time of the thread, and the time that the thread waited for a core.
//
// Libraries come from Maven Central. mvn downloads them into its own repository.

import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Child, compile, javaFiles, load, median, project, sleep, temporaryDirectory } from './support.mjs'

const APPS = join(project, 'test/bench/apps')
const oracle = (it) => join(project, `test/oracle/programs/${it}.java`)
/** `folder`: directory and package of the programs. `shared`: further sources that they need. */
const TABLES = { folder: 'tables', shared: ['Driver', 'Grammar', 'Javac'].map(oracle) } // Two are programs of the oracle.
export const SUITE = { folder: 'suite', shared: [join(APPS, 'tables/Driver.java')] }
export const WHOLE = 'tables.Driver.task'
const run = promisify(execFile)
/** Time in which the client reads everything that an idle program has written. */
const DRAIN_MS = 100

/**
 * `overhead`: percent, from the report's tables 1 and 2, scheme b. `part`: a root with about a tenth of the time. `code`: classes whose
 * methods get probes. `coarse`: classes whose methods take 1 us or more, for a third table.
 */
export const PROGRAMS = [
  { name: 'Compress', title: 'compress', part: 'tables.Compress$Compressor.emit', overhead: [5061, 2281] },
  { name: 'Db', title: 'db', part: 'tables.Db$Table.find', overhead: [4.8, 1.5] },
  {
    name: 'ParserGenerator',
    title: 'jack',
    part: 'org.antlr.v4.runtime.ParserInterpreter.parse',
    overhead: [166, 267],
    code: ['tables.*', 'org.antlr.*'],
    coarse: ['tables.*'],
  },
  {
    name: 'Javac',
    title: 'javac',
    part: 'com.sun.tools.javac.main.JavaCompiler.desugar',
    overhead: [1317, 91],
    flags: { jdk: true, include: ['com.sun.tools.**', 'tables.*'] },
    code: ['tables.*', 'com.sun.tools.*'],
    coarse: ['com.sun.tools.javac.main.**', 'tables.*'],
  },
  { name: 'Rules', title: 'jess', part: 'tables.Rules$Engine.ask', overhead: [4530, 388] },
  {
    name: 'Mp3',
    title: 'mpegaudio',
    part: 'javazoom.jl.decoder.LayerIIIDecoder.hybrid',
    overhead: [2666, 289],
    code: ['tables.*', 'javazoom.*'],
    coarse: ['tables.*', 'javazoom.jl.decoder.LayerIIIDecoder'],
  },
  { name: 'RayTracer', title: 'mtrt', part: 'tables.RayTracer$Scene.shadowed', overhead: [null, null] },
  {
    name: 'Notepad',
    title: 'Notepad',
    part: 'tables.Notepad.edit',
    overhead: [1704, 12],
    flags: { jdk: true, include: ['javax.swing.**', 'tables.*'] },
    code: ['tables.*', 'javax.swing.*'],
  },
]

/** Each program uses its library as the benchmark of the same title does. `wanted` selects programs by `name`. */
export const SUITE_PROGRAMS = [
  { name: 'Batik', title: 'batik' },
  { name: 'Eclipse', title: 'eclipse' },
  { name: 'Formatter', title: 'fop' },
  { name: 'H2', title: 'h2' },
  { name: 'Jython', title: 'jython' },
  { name: 'LuIndex', title: 'luindex' },
  { name: 'LuSearch', title: 'lusearch' },
  { name: 'Xalan', title: 'xalan' },
  { name: 'Zxing', title: 'zxing' },
  { name: 'FutureGenetic', title: 'future-genetic' },
  { name: 'Mnemonics', title: 'mnemonics' },
  { name: 'RxScrabble', title: 'rx-scrabble' },
  { name: 'Scrabble', title: 'scrabble' },
]

/** Returns the class path of the compiled programs, and async-profiler's library for this machine, or null. */
export async function preparePrograms(jdk, { folder, shared } = TABLES) {
  const sources = join(APPS, folder)
  const dir = temporaryDirectory()
  const file = join(dir, 'class-path')
  await run('mvn', [
    ...['-q', '-B', '-f', join(sources, 'pom.xml')],
    ...['dependency:build-classpath', `-Dmdep.outputFile=${file}`],
  ])
  const jars = readFileSync(file, 'utf8').trim().split(':')
  const isSampler = (jar) => jar.includes('async-profiler')
  const sampler = jars.find(isSampler)
  if (sampler !== undefined) await run(jdk.javac.replace(/javac$/, 'jar'), ['xf', sampler], { cwd: dir })
  const library = join(dir, `linux-${process.arch}`, 'libasyncProfiler.so')
  const libraries = jars.filter((jar) => !isSampler(jar)).join(':')
  const classes = await compile(jdk, [...javaFiles(sources), ...shared], ['-cp', libraries])
  return { folder, classPath: `${classes}:${libraries}`, sampler: existsSync(library) ? library : null }
}

/** A JVM that runs one of the programs. */
export class ProgramJvm {
  #java
  #jdk
  #prepared

  constructor(jdk, prepared, program, options = []) {
    this.#jdk = jdk
    this.#prepared = prepared
    this.#java = new Child(jdk.java, [
      '-Djava.awt.headless=true',
      ...['-XX:+UnlockDiagnosticVMOptions', '-XX:+DebugNonSafepoints', '-XX:+EnableDynamicAgentLoading'],
      ...options,
      ...['-cp', prepared.classPath, 'tables.Driver', `${prepared.folder}.${program.name}`],
    ])
  }

  get pid() {
    return this.#java.pid
  }

  ready() {
    return this.#java.line(/^ready/)
  }

  end() {
    return this.#java.end()
  }

  /** Runs the program once. Returns times in ms. */
  async run() {
    const [wall, cpu, queued] = (await this.#java.ask('run', /^done/))
      .split(' ')
      .slice(1, 4)
      .map((it) => it / 1e6)
    return { wall, cpu, queued }
  }

  /** Runs the program for at least `ms`. Returns the mean of the runs. */
  async round(ms) {
    const sum = { runs: 0, wall: 0, cpu: 0, queued: 0 }
    while (sum.runs < 1 || sum.wall < ms) {
      const it = await this.run()
      sum.runs++
      for (const key of ['wall', 'cpu', 'queued']) sum[key] += it[key]
    }
    for (const key of ['wall', 'cpu', 'queued']) sum[key] /= sum.runs
    return sum
  }

  /**
   * Runs the program until the JVM's compilers have little to do.
   *
   * @returns duration in seconds, seconds of the compilers' CPU time, and whether the compilers were still busy after `limitMs`
   */
  async settle(limitMs, leastMs = 2000) {
    const begun = performance.now()
    const first = this.#compilers()
    const passed = () => performance.now() - begun
    let quiet = 0
    let before = first
    let runs = 0
    while (quiet < 2 && passed() < limitMs) {
      const at = performance.now()
      runs += (await this.round(1000)).runs
      const now = this.#compilers()
      const busy = spent(before, now) / (performance.now() - at)
      quiet = busy < 0.1 && passed() >= leastMs - 1000 ? quiet + 1 : 0
      before = now
    }
    return { seconds: passed() / 1000, compilers: spent(first, before) / 1000, runs, compiling: quiet < 2 }
  }

  /** Returns the CPU time of each compiler thread, ms. */
  #compilers() {
    const tasks = `/proc/${this.pid}/task`
    const found = new Map()
    for (const task of readdirSync(tasks)) {
      try {
        if (!/^C[12] /.test(readFileSync(join(tasks, task, 'comm'), 'utf8'))) continue
        found.set(task, readFileSync(join(tasks, task, 'schedstat'), 'utf8').split(' ')[0] / 1e6)
      } catch {
        // The thread has ended.
      }
    }
    return found
  }

  /**
   * Samples the position of the program's thread by a timer of its CPU time. Returns shares of the samples below Driver.task.
   *
   * async-profiler's handler reads the interrupted instruction, and finds the methods inlined there by the debug info of compiled code
   * (DebugNonSafepoints). It needs no safepoint and no state that the probes would have to keep. Bias: instructions in the shadow of a slow
   * instruction are not seen, and reading the clock is slow. The part of a probe at its call site (the id, saved registers) counts as time
   * of the method.
   *
   * @param root  a method whose share, including its callees, is also returned
   * @returns null if async-profiler's library is missing
   */
  async sample(ms, root) {
    const { sampler } = this.#prepared
    if (sampler === null) return null
    const file = join(temporaryDirectory(), 'samples')
    const tell = (line) =>
      run(this.#jdk.java.replace(/java$/, 'jcmd'), [
        ...[String(this.pid), 'JVMTI.agent_load', sampler],
        `"${line}"`, // jcmd splits its arguments at commas and equals signs
      ])
    await tell('start,event=ctimer,interval=1ms,cstack=no')
    const round = await this.round(ms)
    await tell(`stop,file=${file},collapsed`)
    const samples = { ...round, all: 0, probes: 0, root: 0 }
    const rootFrame = root?.replaceAll('.', '/').replace(/\/([^/]*)$/, '.$1')
    for (const line of readFileSync(file, 'utf8').split('\n')) {
      const [, stack, count] = /^(.*) (\d+)$/.exec(line) ?? []
      const frames = stack?.split(';') ?? []
      const from = frames.findIndex((it) => it.startsWith('tables/Driver.task'))
      if (from < 0) continue
      samples.all += Number(count)
      if (frames.some((it) => it.startsWith('java/lang/JFluid1.'))) samples.probes += Number(count)
      if (frames.includes(rootFrame)) samples.root += Number(count)
    }
    return samples
  }
}

function spent(before, now) {
  let sum = 0
  for (const [task, ms] of now) sum += ms - (before.get(task) ?? 0)
  return sum
}

/** Starts a session of a program, like `jfluid record`. */
export async function profileProgram(pid, root, scheme, flags = {}, more = {}) {
  const { attachDoor } = await load('session/doors/door.js')
  const { Session } = await load('session/session.js')
  const { sessionOptions } = await load('commands/options.js')
  const options = sessionOptions({ root: [root], scheme, yes: true, ...flags })
  return Session.start(await attachDoor(pid), { ...options, ...more })
}

/**
 * Measures one round of a profiled program. Returns the mean run, the calls and ms charged to the roots per run, and the ms that threads
 * waited for the client in the whole round.
 */
export async function profiledRound(jvm, session, ms) {
  session.reset()
  const round = await jvm.round(ms)
  const { merged } = await session.snapshot(false)
  let calls = 0
  let charged = 0
  for (let i = 0; i < merged.count; i++) calls += merged.metrics.calls[i]
  for (let i = 0; i < merged.count; i += merged.size[i]) charged += merged.metrics.totalNs[i] / 1e6
  const { waitMs } = await session.status()
  return { ...round, calls: calls / round.runs, charged: charged / round.runs, waitMs }
}

/** Measures one round. Returns the mean run, its number of calls (NaN for samples), and the cost of the root in the mode's metric. */
export async function countedRound(jvm, session, ms) {
  // The program is idle. The client reads what the program has written within a few milliseconds.
  await sleep(DRAIN_MS)
  session.reset()
  await session.status() // is answered after the reset
  const round = await jvm.round(ms)
  await sleep(DRAIN_MS)
  const { merged } = await session.snapshot(false)
  const { calls: counts, totalNs, totalBytecodes, totalCalls, totalBytes, totalSamples } = merged.metrics
  const total = totalNs ?? totalBytecodes ?? totalCalls ?? totalBytes ?? totalSamples
  let calls = 0
  let cost = 0
  for (let i = 0; i < merged.count; i++) calls += counts?.[i] ?? Number.NaN
  for (let i = 0; i < merged.count; i += merged.size[i]) cost += total[i]
  return { ...round, calls: calls / round.runs, cost: cost / round.runs }
}

export async function endSession(session) {
  await session.detach()
  await session.close()
}

/** Returns `min / median / max`. */
export function range(values, digits) {
  return [Math.min(...values), median(values), Math.max(...values)]
    .map((it) => it.toFixed(digits))
    .join(' / ')
}

/** Returns whether BENCH_PROGRAMS contains the program's name. Without BENCH_PROGRAMS, all programs are wanted. */
export const wanted = ({ name }) => process.env.BENCH_PROGRAMS?.split(',').includes(name) ?? true
