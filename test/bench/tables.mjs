// Tables 1 and 2 of the report (section 7) on programs of today: a whole program, and a root of about a tenth of its time;
// the same columns. apps/tables has a program for each of the report's; PetStore is the bench `server`.
//
// Bare and profiled runs are of one JVM, in that order: bare, attach, runs that warm it up again, runs that count, detach. One
// more row than the report has is the bare time after the detach. Libraries come from Maven Central, by way of mvn, into its own repository.

import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Child, compile, javaFiles, load, median, project, temporaryDirectory, verdict } from './support.mjs'

const APPS = join(project, 'test/bench/apps/tables')
/** Two of them are programs of the oracle. */
const SHARED = ['Driver', 'Grammar', 'Javac'].map((it) => join(project, `test/oracle/programs/${it}.java`))
const WHOLE = 'tables.Driver.task'
/** Runs that count: at least so long, at least so many. */
const COUNTED_MS = 1500
/** Runs before them, until what was loaded or redefined is compiled. */
const WARM_MS = 6000
const SETTLE_MS = 4000
const FEWEST = 3
const MOST = 400

/** `overhead`: per cent, of the report's tables 1 and 2, scheme B. `part`: a root of about a tenth of the time. */
const PROGRAMS = [
  { name: 'Compress', title: 'compress', part: 'tables.Compress$Compressor.emit', overhead: [5061, 2281] },
  { name: 'Db', title: 'db', part: 'tables.Db$Table.find', overhead: [4.8, 1.5] },
  {
    name: 'ParserGenerator',
    title: 'jack',
    part: 'org.antlr.v4.analysis.LeftRecursiveRuleTransformer.*',
    overhead: [166, 267],
  },
  {
    name: 'Javac',
    title: 'javac',
    part: 'com.sun.tools.javac.comp.Flow.analyzeTree',
    overhead: [1317, 91],
    flags: { jdk: true, include: ['com.sun.tools.**', 'tables.*'] },
  },
  { name: 'Rules', title: 'jess', part: 'tables.Rules$Engine.tell', overhead: [4530, 388] },
  {
    name: 'Mp3',
    title: 'mpegaudio',
    part: 'javazoom.jl.decoder.LayerIIIDecoder.stereo',
    overhead: [2666, 289],
  },
  { name: 'RayTracer', title: 'mtrt', part: 'tables.RayTracer$Scene.shadowed', overhead: [null, null] },
  {
    name: 'Notepad',
    title: 'Notepad',
    whole: 'tables.Notepad.work',
    part: 'tables.Notepad.edit',
    overhead: [1704, 12],
    flags: { jdk: true, include: ['javax.swing.**', 'tables.*'] },
  },
]

export async function tables(jdks) {
  const libraries = await classPath()
  for (const jdk of jdks) {
    const classes = await compile(jdk, [...javaFiles(APPS), ...SHARED], ['-cp', libraries])
    for (const [table, rootOf] of [
      [1, (program) => program.whole ?? WHOLE],
      [2, (program) => program.part],
    ]) {
      console.log(
        `\n${jdk.name}, table ${table}: ${table === 1 ? 'whole programs' : 'a part of each'}; times of one run, ms`,
      )
      console.log(HEAD)
      for (const program of PROGRAMS)
        for (const scheme of ['a', 'b']) {
          try {
            const row = await measure(jdk, `${classes}:${libraries}`, program, rootOf(program), scheme)
            print(program, scheme, row, table)
          } catch (error) {
            console.log(`  ${program.title.padEnd(10)} ${scheme}  FAILED: ${error.message.split('\n')[0]}`)
          }
        }
    }
  }
}

async function classPath() {
  const file = join(temporaryDirectory(), 'class-path')
  await promisify(execFile)('mvn', [
    ...['-q', '-B', '-f', join(APPS, 'pom.xml')],
    ...['dependency:build-classpath', `-Dmdep.outputFile=${file}`],
  ])
  return readFileSync(file, 'utf8').trim()
}

async function measure(jdk, libraries, program, root, scheme) {
  const java = new Child(jdk.java, [
    '-Djava.awt.headless=true',
    '-cp',
    libraries,
    'tables.Driver',
    `tables.${program.name}`,
  ])
  const run = async () => Number((await java.ask('run', /^done/)).split(' ')[1]) / 1e6
  const runs = async (ms) => {
    const times = []
    for (let sum = 0; times.length < MOST && (sum < ms || times.length < FEWEST); sum += times.at(-1))
      times.push(await run())
    return times
  }
  try {
    await java.line(/^ready/)
    await runs(WARM_MS)
    const bare = median(await runs(COUNTED_MS))
    const session = await start(java.pid, root, scheme, program.flags)
    // As long again, so that what was redefined is compiled, and what was found is in.
    await runs(SETTLE_MS)
    const { calls: before } = await totals(session)
    session.reset()
    const cpu = process.cpuUsage()
    const waited = (await session.status()).waitMs
    const times = await runs(COUNTED_MS)
    const used = process.cpuUsage(cpu)
    const during = times.reduce((sum, it) => sum + it, 0)
    const { calls, charged } = await totals(session)
    const waitMs = (await session.status()).waitMs - waited
    await session.detach()
    const profile = await session.profile()
    await session.close()
    await runs(SETTLE_MS)
    const after = median(await runs(COUNTED_MS))
    const { innerNs, outerNs } = profile.calibration
    return {
      ...{ bare, after, before, total: median(times) },
      calls: calls / times.length,
      charged: charged / times.length,
      instrumentation: ((innerNs + outerNs) * calls) / 1e6 / during,
      processing: (used.user + used.system) / 1e3 / during,
      waited: waitMs / during,
      it: profile.instrumentation,
      profile,
    }
  } finally {
    await java.end()
  }
}

async function start(pid, root, scheme, flags = {}) {
  const { attachDoor } = await load('session/door.js')
  const { Session } = await load('session/session.js')
  const { DEFAULT_LOOK_AHEAD, sessionOptions } = await load('commands/options.js')
  const options = sessionOptions({ root: [root], scheme, lookAhead: DEFAULT_LOOK_AHEAD, ...flags })
  return Session.start(await attachDoor(pid), options)
}

/** Calls of all methods, and milliseconds that are charged to the roots. */
async function totals(session) {
  const { merged } = await session.snapshot(false)
  let calls = 0
  let charged = 0
  for (let i = 0; i < merged.count; i++) calls += merged.metrics.calls[i]
  for (let i = 0; i < merged.count; i += merged.size[i]) charged += merged.metrics.totalNs[i] / 1e6
  return { calls, charged }
}

const HEAD =
  '  program    s       calls    bare  charged     /bare    total   ovhd % report %  instr % wait % H/S ms anal ms proc %  instr. called  after/bare'

function print(program, scheme, row, table) {
  const { bare, total, charged, calls, it } = row
  const overhead = (total / bare - 1) * 100
  const report = program.overhead[table - 1]
  const pad = (text, width) => String(text).padStart(width)
  // Table 2: charged against the root's own share, which only a bare measurement of it would tell.
  const ratio = table === 1 ? (charged / bare).toFixed(2) : ''
  const columns = [
    [calls < 1e5 ? calls.toFixed(0) : `${(calls / 1e6).toFixed(2)}M`, 11],
    [bare.toFixed(1), 7],
    [charged.toFixed(1), 8],
    [ratio, 9],
    [total.toFixed(1), 8],
    [overhead.toFixed(overhead < 10 ? 1 : 0), 8],
    [report ?? '-', 8],
    [(row.instrumentation * 100).toFixed(0), 8],
    [(row.waited * 100).toFixed(0), 6],
    [it.hotSwapMs.toFixed(0), 6],
    [it.analysisMs.toFixed(0), 7],
    [(row.processing * 100).toFixed(0), 6],
    [it.instrumentedMethods, 7],
    [it.calledMethods, 6],
    [(row.after / bare).toFixed(2), 11],
  ]
  const goals = []
  if (report !== null && report > 100)
    goals.push(verdict(overhead * 5 <= report, 'overhead <= 1/5 of the report’s'))
  if (table === 1) goals.push(verdict(charged / bare >= 0.77 && charged / bare <= 1.3, 'charged 0.77-1.3'))
  console.log(
    `  ${program.title.padEnd(10)} ${scheme} ${columns.map(([text, width]) => pad(text, width)).join(' ')}  ${goals.join('; ')}`,
  )
}
