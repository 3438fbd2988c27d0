// Overhead of modes on programs modelled on benchmarks of DaCapo and Renaissance whose libraries are on Maven Central
// (apps/suite). The root is the whole program, and all code outside the JDK is instrumented.
//
// One JVM per program, in which sessions and bare rounds alternate. Each waits until the compilers are quiet. A session is
// compared with the bare rounds before and after it, because compiled code gets faster or slower with time. Sampling by time
// has more sessions and longer rounds: bare rounds of some programs differ by more than its goal of 2 %. The column `bare`
// shows by how much.
//
// BENCH_PROGRAMS=H2,LuIndex selects rows (class names), BENCH_MODES='count,sample 10 ms' columns, BENCH_SETTLE=60 the seconds
// after which a session or bare rounds begin at the latest.

import {
  countedRound,
  endSession,
  ProgramJvm,
  preparePrograms,
  profileProgram,
  range,
  SUITE,
  SUITE_PROGRAMS,
  WHOLE,
  wanted,
} from './programs.mjs'
import { geometric, load, loadAverage, median, verdict } from './support.mjs'

/** Maximum time that a session, or bare rounds, wait for the compilers. Programs with ten thousand methods need all of it. */
const SETTLE_MS = (process.env.BENCH_SETTLE ?? 30) * 1000
const sampled = (sampling) => ({ flags: { mode: 'sample' }, options: { sampling } })

/** `goal`: limit for the geometric mean. */
const ALL_MODES = [
  { title: 'bytecodes', flags: { mode: 'bytecodes' }, sessions: 1, rounds: 3, roundMs: 1000, goal: 1.9 },
  {
    title: 'sample 10000',
    ...sampled({ every: 10_000, unit: 'bytecodes', random: 100 }),
    ...{ sessions: 1, rounds: 3, roundMs: 1000, goal: 1.4 },
  },
  {
    title: 'sample 10 ms',
    ...{ byJvm: { every: 10e6 }, sessions: 2, rounds: 2, roundMs: 3000, goal: 1.02 },
  },
  { title: 'count', flags: { mode: 'count' }, sessions: 1, rounds: 3, roundMs: 1000 },
]

const MODES = ALL_MODES.filter(({ title }) => process.env.BENCH_MODES?.split(',').includes(title) ?? true)

export async function papers(jdks) {
  for (const jdk of jdks) {
    console.log(
      `\n${jdk.name}: CPU time of a run / bare before and after, min / median / max of rounds; bare: ms, and rounds / their median, min / max`,
    )
    const titles = MODES.map(({ title }) => title)
    const head = ['program', 'methods', 'calls', 'calls / bare s', 'bare, ms', 'bare', ...titles, 'load']
    console.log(`| ${head.join(' | ')} |\n| ${head.map(() => '---').join(' | ')} |`)
    const prepared = await preparePrograms(jdk, SUITE)
    const factors = new Map(titles.map((it) => [it, []]))
    const notes = []
    for (const program of SUITE_PROGRAMS.filter(wanted)) {
      const { cells, each, said } = await row(jdk, prepared, program)
      console.log(`| ${[program.title, ...cells, loadAverage()].join(' | ')} |`)
      for (const [title, values] of each) factors.get(title).push(median(values))
      for (const it of said) notes.push(`${program.title}: ${it}`)
    }
    for (const { title, goal } of MODES) {
      const all = factors.get(title)
      if (all.length === 0) continue
      const mean = geometric(all)
      const [least, most] = [Math.min(...all), Math.max(...all)].map((it) => it.toFixed(3))
      const reached = goal === undefined ? '' : `, ${verdict(mean <= goal, goal)}`
      console.log(
        `${title}: ${mean.toFixed(3)} (geometric mean of ${all.length}), ${least} to ${most}${reached}`,
      )
    }
    console.log(`* the compilers were still busy after ${SETTLE_MS / 1000} s`)
    for (const it of notes) console.log(it)
  }
}

/** Measures one row. After a mode fails, the rest of the row is not measured. */
async function row(jdk, prepared, program) {
  const jvm = new ProgramJvm(jdk, prepared, program)
  const each = new Map()
  const said = new Set()
  const bares = []
  const busy = new Set()
  let counted
  const bare = async ({ rounds, roundMs }) => {
    const all = []
    while (all.length < rounds) all.push((await jvm.round(roundMs)).cpu)
    bares.push(...all)
    return all
  }
  try {
    await jvm.ready()
    await jvm.settle(SETTLE_MS)
    let before = await bare(MODES[0])
    for (const mode of MODES) {
      const factors = []
      for (let i = 0; i < mode.sessions; i++) {
        const profiled = await profiledRounds(jvm, program, mode, said)
        const { compiling } = await jvm.settle(SETTLE_MS)
        if (profiled.compiling || compiling) busy.add(mode.title)
        const after = await bare(mode)
        const between = median([...before, ...after])
        for (const { cpu } of profiled.rounds) factors.push(cpu / between)
        if (mode.title === 'count' || counted?.calls === undefined) counted = profiled
        before = after
      }
      each.set(mode.title, factors)
    }
  } catch (error) {
    said.add(`FAILED: ${error.message.split('\n')[0]}`)
  } finally {
    await jvm.end()
  }
  const middle = bares.length > 0 ? median(bares) : Number.NaN
  const calls = counted?.calls
  const cells = [
    counted?.methods ?? '–',
    calls?.toExponential(1) ?? '–',
    calls === undefined ? '–' : (calls / (middle / 1000)).toExponential(1),
    middle.toFixed(0),
    [Math.min(...bares), Math.max(...bares)].map((it) => (it / middle).toFixed(2)).join(' / '),
    ...MODES.map(({ title, roundMs }) =>
      each.has(title)
        ? range(each.get(title), roundMs < 3000 ? 2 : 3) + (busy.has(title) ? ' *' : '')
        : 'FAILED',
    ),
  ]
  return { cells, each, said }
}

/** Measures rounds sampled by the sampler that jfluid uses by default on this JDK. */
async function sampledRounds(jvm, { title, byJvm, rounds, roundMs }, said) {
  const { JvmSampling } = await load('session/sampling/jvm-sampling.js')
  const { parseRoot } = await load('reveal/patterns.js')
  const session = await JvmSampling.start(jvm.pid, { sampling: byJvm, roots: [parseRoot(WHOLE)] })
  try {
    const { compiling } = await jvm.settle(SETTLE_MS)
    const all = []
    while (all.length < rounds) all.push(await jvm.round(roundMs))
    const { samples, warnings } = session.status()
    said.add(`${title}: ${samples} samples by ${session.sampling.by}`)
    for (const it of warnings) said.add(`${title}: ${it}`)
    return { rounds: all, compiling }
  } finally {
    await session.leave()
  }
}

async function profiledRounds(jvm, program, mode, said) {
  if (mode.byJvm !== undefined) return await sampledRounds(jvm, mode, said)
  const { title, flags, options, rounds, roundMs } = mode
  const session = await profileProgram(jvm.pid, WHOLE, 'b', { ...program.flags, ...flags }, options)
  try {
    const { compiling } = await jvm.settle(SETTLE_MS)
    const all = []
    while (all.length < rounds) all.push(await countedRound(jvm, session, roundMs))
    if (all.some(({ cost }) => cost === 0)) said.add(`${title}: a round without samples`)
    const { instrumentedMethods, skipped, warnings } = await session.status()
    for (const it of warnings) said.add(`${title}: ${it}`)
    if (skipped.length > 0) said.add(`${title}: ${skipped.length} methods skipped`)
    return {
      rounds: all,
      compiling,
      methods: instrumentedMethods,
      calls: median(all.map(({ calls }) => calls)),
    }
  } finally {
    await endSession(session)
  }
}
