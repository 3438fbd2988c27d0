// npm run bench:truth [-- options]: programs with a known answer, bare and under jfluid. Compares each profile with the known answer.
//
//   --program fib|chain|1us|5us|50us|rays|json|regex|javac   may be repeated; default: all
//   --scheme adaptive|b|count|sample|async-profiler|jfr      may be repeated; default: all. count is scheme b with --mode count, sample is
//                                                            --mode sample; the last two are other profilers, started manually
//                                                            (10 ms; `settings=profile`)
//   --jdk 17|25|<home>                                       may be repeated; default: the oldest and the newest JDK found
//   --java '-XX:+UseSerialGC …'                              options of the JVM
//   --seconds 20                                             duration of each recording
//   --reference 60                                           seconds of samples by async-profiler (1 ms), 0 for none
//
// charged/bare: duration of root calls according to the last half of the profile, divided by the duration that the program itself has
// measured just before, without jfluid. Told: this ratio as reported in the profile of scheme b. Slower: slowdown of the calls during the
// recording. Exact: share of the root's time in timed methods below the root, with their callees. Overlap: agreement of the methods' shares of the root's time with the shares by async-profiler in the bare program. In
// brackets: the overlap that the same number of samples would reach by chance alone (for exact rows: the overlap that half of the reference
// reaches). `total >= 2 us`: methods with at least this duration, by the exact counts of scheme b, without the root. `self >= 2 us`: self
// time charged to the innermost of these methods. Needs mvn for the reference. Nothing is asserted.

import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { installAsyncProfiler } from '../servers/setup.mjs'
import {
  Child,
  cli,
  compile,
  findJdks,
  loadAverage,
  machine,
  median,
  sleep,
  temporaryDirectory,
} from '../support.mjs'
import { kendall, overlap, selves, stacksBelow, stacksOf, thinned, totals } from './shares.mjs'

const run = promisify(execFile)

const PROGRAMS = {
  ...{ fib: 'Fib', chain: 'Chain', '1us': 'Spin', '5us': 'Spin', '50us': 'Spin' },
  ...{ rays: 'Rays', json: 'Json', regex: 'Regex', javac: 'Javac' },
}
const WARM_MS = 6_000
const BARE_MS = 2_000
const BARE_ROUNDS = 3
/** Interval of the checks whether a recording has ended. */
const GOING_ON_MS = 250
const LONG_NS = 2_000
const SCHEMES = ['adaptive', 'b', 'count', 'sample', 'async-profiler', 'jfr']

const { values: flags } = parseArgs({
  options: {
    program: { type: 'string', multiple: true, default: Object.keys(PROGRAMS) },
    scheme: { type: 'string', multiple: true, default: SCHEMES },
    jdk: { type: 'string', multiple: true },
    java: { type: 'string', default: '' },
    seconds: { type: 'string', default: '20' },
    reference: { type: 'string', default: '60' },
  },
})

function fail(problem) {
  console.error(`bench:truth: ${problem}`)
  process.exit(64)
}

for (const name of flags.program)
  if (PROGRAMS[name] === undefined) fail(`no program '${name}': take ${Object.keys(PROGRAMS).join(', ')}`)
for (const name of flags.scheme)
  if (!SCHEMES.includes(name)) fail(`no scheme '${name}': take ${SCHEMES.join(', ')}`)
const seconds = Number(flags.seconds)
const referenceSeconds = Number(flags.reference)
if (!(seconds >= 1) || !(referenceSeconds >= 0)) fail('--seconds and --reference take numbers of seconds')
const found = findJdks()
const jdks = (flags.jdk ?? [found.at(0), found.at(-1)].map((jdk) => jdk?.home)).map(
  (wanted) =>
    found.find(({ home, version }) => home === wanted || String(version) === wanted) ??
    fail(`no JDK '${wanted}'`),
)

const asyncProfiler =
  referenceSeconds > 0 || flags.scheme.includes('async-profiler') ? await installAsyncProfiler(jdks[0]) : null
console.log(`${new Date().toISOString().slice(0, 10)}  ${machine(jdks).join('\n            ')}`)
for (const jdk of jdks) {
  console.log(`\n## ${jdk.name} ${flags.java}  (load average ${loadAverage()})\n`)
  console.log(
    `| program | scheme | charged/bare | told | slower | exact | total >= 2 us | self >= 2 us | self | tau | clock |`,
  )
  console.log('| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |')
  const classes = await compile(jdk, [join(import.meta.dirname, 'Truth.java')])
  for (const program of flags.program) {
    try {
      await measured(jdk, classes, program)
    } catch (error) {
      console.log(`| ${program} | FAILED: ${error.message.replaceAll('\n', ' ').slice(0, 400)} |`)
      process.exitCode = 1
    }
  }
}
process.exit()

function rootOf(program) {
  return `bench.Truth$${PROGRAMS[program]}.root`
}

async function measured(jdk, classes, program) {
  const options = ['-Xmx1g', ...flags.java.split(' ').filter(Boolean)]
  const java = new Child(jdk.java, [...options, '-cp', classes, 'bench.Truth', program])
  try {
    await java.line(/^ready/)
    await mean(java, WARM_MS)
    const reference =
      referenceSeconds === 0
        ? null
        : await byAsyncProfiler(jdk, java.pid, rootOf(program), referenceSeconds, '1ms')
    const profiles = []
    for (const scheme of flags.scheme) {
      const bare = []
      for (let round = 0; round < BARE_ROUNDS; round++) bare.push(await mean(java, BARE_MS))
      profiles.push({
        scheme,
        bare: median(bare),
        ...(await beside(java, () => start(scheme, jdk, java.pid, rootOf(program)))),
      })
    }
    const exact = profiles.find(({ scheme }) => scheme === 'b')?.profile
    for (const it of profiles) console.log(row(program, it, reference, exact))
  } finally {
    await java.end()
  }
}

/** @returns mean duration of a call in ns */
async function mean(java, ms) {
  const answer = await java.ask(`measure ${Math.round(ms)}`, /^measured/)
  return Number(answer.split(' ')[2])
}

/** Records a profile of jfluid, or stacks below the root of another profiler. */
async function start(scheme, jdk, pid, root) {
  const ours = root === rootOf('javac') ? ['--yes', '--jdk'] : ['--yes'] // javac belongs to the JDK
  switch (scheme) {
    case 'async-profiler':
      return { stacks: await byAsyncProfiler(jdk, pid, root, seconds, '10ms') }
    case 'jfr':
      return { stacks: await byFlightRecorder(jdk, pid, root) }
    case 'sample':
      return await recorded(pid, root, ['--mode', 'sample'])
    case 'count':
      return await recorded(pid, root, [...ours, '--scheme', 'b', '--mode', 'count'])
    default:
      return await recorded(pid, root, [...ours, '--scheme', scheme])
  }
}

/** Keeps the program running until the recording has ended. */
async function beside(java, record) {
  let isOver = false
  const recording = record().finally(() => {
    isOver = true
  })
  recording.catch(() => {}) // the promise is awaited below
  await mean(java, (seconds * 1000) / 2)
  const slow = await mean(java, (seconds * 1000) / 3)
  while (!isOver) await mean(java, GOING_ON_MS)
  return { slow, ...(await recording) }
}

async function byAsyncProfiler(jdk, pid, root, lasts, interval) {
  const out = join(temporaryDirectory(), 'collapsed')
  const how = ['-d', String(lasts), '-e', 'itimer', '-i', interval, '-o', 'collapsed', '-f', out]
  await run(jdk.java, ['-jar', asyncProfiler, 'profiler', ...how, String(pid)])
  return stacksBelow(readFileSync(out, 'utf8'), root)
}

async function byFlightRecorder(jdk, pid, root) {
  const out = join(temporaryDirectory(), 'truth.jfr')
  const [jcmd, jfr] = ['jcmd', 'jfr'].map((tool) => join(jdk.home, 'bin', tool))
  await run(jcmd, [String(pid), 'JFR.start', 'name=truth', 'settings=profile'])
  await sleep(seconds * 1000)
  await run(jcmd, [String(pid), 'JFR.stop', 'name=truth', `filename=${out}`])
  const events = ['--json', '--stack-depth', '2048', '--events', 'jdk.ExecutionSample']
  const { stdout } = await run(jfr, ['print', ...events, out], { maxBuffer: 2 ** 30 })
  const lines = JSON.parse(stdout).recording.events.map(({ values: { stackTrace } }) =>
    stackTrace.frames.map(({ method }) => `${method.type.name}.${method.name}`.replaceAll('.', '/')),
  )
  return stacksBelow(
    lines.map((frames) => `${frames.reverse().map(asCollapsed).join(';')} 1`).join('\n'),
    root,
  )
}

/** Returns a frame in async-profiler's format, with a dot before the method's name. */
function asCollapsed(frame) {
  const at = frame.lastIndexOf('/')
  return `${frame.slice(0, at)}.${frame.slice(at + 1)}_[j]`
}

async function recorded(pid, root, how) {
  const out = join(temporaryDirectory(), 'p.jfluid')
  const args = ['record', String(pid), '--root', root, ...how, '--duration', `${seconds}s`, '--out', out]
  await run(process.execPath, [cli, ...args])
  const json = join(temporaryDirectory(), 'p.json')
  await run(process.execPath, [cli, 'export', out, '--format', 'json', '--out', json])
  return { profile: JSON.parse(readFileSync(json, 'utf8')) }
}

function row(program, { scheme, slow, profile, stacks, bare }, reference, exact) {
  const timed = profile?.course !== undefined && profile.rootCalls?.unit === 'ns' ? profile : null
  const bareCalls = timed?.bareCalls
  const told =
    bareCalls === undefined
      ? '–'
      : `${(bareCalls.chargedNs / bareCalls.bareNs).toFixed(2)} (${bareCalls.low.toFixed(2)}–${bareCalls.high.toFixed(2)})`
  const charged = timed === null ? '–' : (meanOfLastHalf(timed.course) / bare).toFixed(2)
  const isSampled = profile?.mode === 'sample'
  const ours = stacks ?? (timed === null && !isSampled ? null : stacksOf(profile.merged))
  const sampled = isSampled ? profile.events.count : timed?.stacks?.samples
  const samples = stacks?.reduce((sum, { count }) => sum + count, 0) ?? sampled
  const shares =
    reference === null || ours === null
      ? ['–', '–', '–', '–']
      : agreement(ours, rootOf(program), samples, bare, reference, exact)
  const { clock, clockMHz = 0, readNs = 0 } = timed?.calibration ?? {}
  const read = clock === undefined ? '–' : `${clock}, ${clockMHz.toFixed(0)} MHz, ${readNs.toFixed(1)} ns`
  const exactly = timed === null ? '–' : exactPart(profile.merged).toFixed(2)
  return `| ${[program, scheme, charged, told, (slow / bare).toFixed(2), exactly, ...shares, read].join(' | ')} |`
}

/** Returns the share of the roots' time in timed methods below the roots, with their callees: 0 to 1. */
function exactPart(roots) {
  const timedNs = (nodes) =>
    nodes.reduce(
      (sum, { known, totalNs, children }) => sum + (known === 'sampled' ? timedNs(children) : totalNs),
      0,
    )
  const all = roots.reduce((sum, { totalNs }) => sum + totalNs, 0)
  return timedNs(roots.flatMap(({ children }) => children)) / all
}

/** Returns the mean in ns. In the last half the code is compiled; on JDK 22 and older, it was discarded and compiled again. */
function meanOfLastHalf({ seconds: all }) {
  const last = all.slice(all.length >> 1).filter(({ calls }) => calls > 0)
  const calls = last.reduce((sum, it) => sum + it.calls, 0)
  return last.reduce((sum, it) => sum + it.mean * it.calls, 0) / calls
}

/** Returns overlaps, each with the overlap that chance alone would reach. */
function agreement(ours, top, samples, bare, reference, exact) {
  const all = reference.reduce((sum, { count }) => sum + count, 0)
  const chance = thinned(reference, samples ?? Math.floor(all / 2))
  const isLong = longMethods(exact, reference, bare)
  // The root always has a share of 1, so it is left out.
  const only = (shares) => new Map([...shares].filter(([method]) => method !== top && isLong(method)))
  const cell = (of) => {
    const [value, floor] = [overlap(of(ours), of(reference)), overlap(of(chance), of(reference))]
    return `${value.toFixed(2)} (${floor.toFixed(2)})`
  }
  return [
    exact === undefined ? '–' : cell((stacks) => only(totals(stacks))),
    exact === undefined ? '–' : cell((stacks) => selves(stacks, isLong)),
    cell((stacks) => selves(stacks)),
    kendall(selves(ours), selves(reference)).toFixed(2),
  ]
}

/** Returns a test for long methods, based on exact call counts and on the reference's shares of time. It uses no times of jfluid. */
function longMethods(exact, reference, bare) {
  if (exact === undefined) return () => false
  const calls = new Map()
  const count = (nodes) => {
    for (const { class: owner, method, calls: own, children } of nodes) {
      const name = `${owner}.${method}`
      calls.set(name, (calls.get(name) ?? 0) + own)
      count(children)
    }
  }
  count(exact.merged)
  const shares = totals(reference)
  const roots = exact.rootCalls.count
  return (method) => {
    const perRoot = (calls.get(method) ?? 0) / roots
    return perRoot > 0 && ((shares.get(method) ?? 0) * bare) / perRoot >= LONG_NS
  }
}
