// npm run bench:truth [-- options]: programs with a known answer, bare and under jfluid, and what each says against what is so.
//
//   --program fib|chain|1us|5us|50us|rays|json|regex|javac   repeatable; all of them unless given
//   --scheme adaptive|b                                      repeatable; both unless given
//   --jdk 17|25|<home>                                       repeatable; the oldest and the newest found unless given
//   --java '-XX:+UseSerialGC …'                              options of the JVM
//   --seconds 20                                             of each recording
//   --reference 60                                           seconds of samples by async-profiler (1 ms), 0 for none
//
// charged/bare: how long calls of the root take by the last half of the profile, by what they take with nothing attached, as the program times
// them itself just before. Told: what the profile of scheme b says of that. Slower: by how much longer they take meanwhile. Overlap: of the shares of methods in the time of the root, with those that async-profiler has of the bare program; in brackets what as
// many samples as the profile has would reach by chance alone (of exact rows: what half of the reference reaches). `total >= 2 us` are methods
// of that length and more, by the exact counts of scheme b, the root apart; `self >= 2 us` is self time charged to the innermost of these. Needs mvn for the reference. Nothing is asserted.

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
/** Between two looks whether a recording has ended. */
const GOING_ON_MS = 250
const LONG_NS = 2_000

const { values: flags } = parseArgs({
  options: {
    program: { type: 'string', multiple: true, default: Object.keys(PROGRAMS) },
    scheme: { type: 'string', multiple: true, default: ['adaptive', 'b'] },
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
const seconds = Number(flags.seconds)
const referenceSeconds = Number(flags.reference)
if (!(seconds >= 1) || !(referenceSeconds >= 0)) fail('--seconds and --reference take numbers of seconds')
const found = findJdks()
const jdks = (flags.jdk ?? [found.at(0), found.at(-1)].map((jdk) => jdk?.home)).map(
  (wanted) =>
    found.find(({ home, version }) => home === wanted || String(version) === wanted) ??
    fail(`no JDK '${wanted}'`),
)

const asyncProfiler = referenceSeconds === 0 ? null : await installAsyncProfiler(jdks[0])
console.log(`${new Date().toISOString().slice(0, 10)}  ${machine(jdks).join('\n            ')}`)
for (const jdk of jdks) {
  console.log(`\n## ${jdk.name} ${flags.java}  (load average ${loadAverage()})\n`)
  console.log(
    `| program | scheme | charged/bare | told | slower | total >= 2 us | self >= 2 us | self | tau | clock |`,
  )
  console.log('| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |')
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

async function measured(jdk, classes, program) {
  const root = `bench.Truth$${PROGRAMS[program]}.root`
  const options = ['-Xmx1g', ...flags.java.split(' ').filter(Boolean)]
  const java = new Child(jdk.java, [...options, '-cp', classes, 'bench.Truth', program])
  try {
    await java.line(/^ready/)
    await mean(java, WARM_MS)
    const reference = asyncProfiler === null ? null : await referenceOf(jdk, java.pid, root)
    const profiles = []
    for (const scheme of flags.scheme) {
      const bare = []
      for (let round = 0; round < BARE_ROUNDS; round++) bare.push(await mean(java, BARE_MS))
      profiles.push({ ...(await profiled(java, root, scheme)), bare: median(bare) })
    }
    const exact = profiles.find(({ scheme }) => scheme === 'b')?.profile
    for (const it of profiles) console.log(row(program, it, reference, exact))
  } finally {
    await java.end()
  }
}

/** @returns ns of a call */
async function mean(java, ms) {
  const answer = await java.ask(`measure ${Math.round(ms)}`, /^measured/)
  return Number(answer.split(' ')[2])
}

async function referenceOf(jdk, pid, root) {
  const out = join(temporaryDirectory(), 'collapsed')
  const how = ['-d', String(referenceSeconds), '-e', 'itimer', '-i', '1ms', '-o', 'collapsed', '-f', out]
  await run(jdk.java, ['-jar', asyncProfiler, 'profiler', ...how, String(pid)])
  return stacksBelow(readFileSync(out, 'utf8'), root)
}

async function profiled(java, root, scheme) {
  const out = join(temporaryDirectory(), 'p.jfluid')
  const args = [
    'record',
    String(java.pid),
    '--root',
    root,
    '--scheme',
    scheme,
    '--duration',
    `${seconds}s`,
    '--out',
    out,
  ]
  let isOver = false
  const recording = run(process.execPath, [cli, ...args]).finally(() => {
    isOver = true
  })
  recording.catch(() => {}) // it is waited for below
  await mean(java, (seconds * 1000) / 2)
  const slow = await mean(java, (seconds * 1000) / 3)
  while (!isOver) await mean(java, GOING_ON_MS)
  await recording
  const json = join(temporaryDirectory(), 'p.json')
  await run(process.execPath, [cli, 'export', out, '--format', 'json', '--out', json])
  return { scheme, slow, profile: JSON.parse(readFileSync(json, 'utf8')) }
}

function row(program, { scheme, slow, profile, bare }, reference, exact) {
  const { bareCalls, calibration, course, stacks } = profile
  const told =
    bareCalls === undefined
      ? '–'
      : `${(bareCalls.chargedNs / bareCalls.bareNs).toFixed(2)} (${bareCalls.low.toFixed(2)}–${bareCalls.high.toFixed(2)})`
  const charged = (meanOfLastHalf(course) / bare).toFixed(2)
  const cells = [program, scheme, charged, told, (slow / bare).toFixed(2)]
  cells.push(
    ...(reference === null
      ? ['–', '–', '–', '–']
      : agreement(profile, stacks?.samples, bare, reference, exact)),
  )
  const { clock, clockMHz = 0, readNs = 0 } = calibration
  cells.push(`${clock}, ${clockMHz.toFixed(0)} MHz, ${readNs.toFixed(1)} ns`)
  return `| ${cells.join(' | ')} |`
}

/** In ns: its code is compiled by then, and on JDK 22 and older all of it again. */
function meanOfLastHalf({ seconds: all }) {
  const last = all.slice(all.length >> 1).filter(({ calls }) => calls > 0)
  const calls = last.reduce((sum, it) => sum + it.calls, 0)
  return last.reduce((sum, it) => sum + it.mean * it.calls, 0) / calls
}

/** With what chance alone would leave of it. */
function agreement(profile, samples, bare, reference, exact) {
  const [root] = profile.roots
  const ours = stacksOf(profile.merged)
  const all = reference.reduce((sum, { count }) => sum + count, 0)
  const chance = thinned(reference, samples ?? Math.floor(all / 2))
  const isLong = longMethods(exact, reference, bare)
  // The root has all of it in any case.
  const only = (shares) => new Map([...shares].filter(([method]) => method !== root && isLong(method)))
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

/** By the exact number of calls, and the share of time that the reference has: none of ours is in it. */
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
