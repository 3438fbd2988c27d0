// Tables 1 and 2 of the report (section 7) on present-day programs, with the same columns: a whole program, and a root with about a tenth
// of its time. apps/tables has a program for each program of the report; PetStore is the bench `server`. Table 3 is not in the report:
// whole programs in which only methods of 1 us and more are included.
//
// Bare and profiled runs use one JVM, in this order: bare, attach, runs until the compilers are quiet, measured runs, sampled runs, detach.
// There are more columns than in the report: the charged time relative to CPU time of the thread, the program's own time by samples, the
// time without the inlining that probes prevent, and the bare time after the detach.
//
// BENCH_PROGRAMS=Db,Mp3 BENCH_TABLES=1 BENCH_SCHEMES=b selects rows. All rows take half an hour per JDK.

import {
  PROGRAMS,
  ProgramJvm,
  preparePrograms,
  profiledRound,
  profileProgram,
  range,
  WHOLE,
  wanted,
} from './programs.mjs'
import { median, verdict } from './support.mjs'

const ROUNDS = 5
const ROUND_MS = 500
const BARE_SETTLE_MS = 12_000
const SETTLE_MS = 30_000
const AFTER_SETTLE_MS = 6_000
const SAMPLE_MS = 3000
const SCHEMES = process.env.BENCH_SCHEMES?.split(',') ?? ['a', 'b']
const TITLES = ['', 'whole programs', 'a part of each', 'whole programs, long methods only']
const TABLES = process.env.BENCH_TABLES?.split(',').map(Number) ?? [1, 2, 3]
/** A call that takes at least this time in a bare run should be charged exactly, so it has another goal. */
const LONG_CALL_NS = 1000

export async function tables(jdks) {
  for (const jdk of jdks) {
    const prepared = await preparePrograms(jdk)
    for (const table of TABLES) {
      console.log(
        `\n${jdk.name}, table ${table}: ${TITLES[table]}; ms of one run; min / median / max of ${ROUNDS} rounds of ${ROUND_MS} ms\n${HEAD}`,
      )
      for (const each of PROGRAMS.filter(wanted)) {
        if (table === 3 && each.coarse === undefined) continue
        const root = table === 2 ? each.part : WHOLE
        const flags = table === 3 ? { ...each.flags, include: each.coarse } : each.flags
        const program = { ...each, flags, overhead: table === 3 ? [] : each.overhead }
        try {
          const apart = await bareApart(jdk, prepared, program, root)
          for (const scheme of SCHEMES) {
            const row = await measure(jdk, prepared, program, root, scheme)
            print(program, scheme, row, apart, table)
          }
        } catch (error) {
          console.log(`| ${program.title} | FAILED: ${error.message.split('\n')[0]} |`)
        }
      }
    }
  }
}

/**
 * Measures the bare program in separate JVMs: the root's share of the time, by samples, and the slowdown if the compilers inline none of
 * the methods that would get probes. With probes the compilers still inline some methods, but cannot optimize across the inlined code.
 */
async function bareApart(jdk, prepared, program, root) {
  const using = async (options, what) => {
    const jvm = new ProgramJvm(jdk, prepared, program, options)
    try {
      await jvm.ready()
      await jvm.settle(BARE_SETTLE_MS)
      return await what(jvm)
    } finally {
      await jvm.end()
    }
  }
  const round = async (jvm) => median((await rounds(() => jvm.round(ROUND_MS))).map(({ cpu }) => cpu))
  const { bare, samples } = await using([], async (jvm) => ({
    bare: await round(jvm),
    samples: await jvm.sample(SAMPLE_MS, root),
  }))
  const classes = program.code ?? ['tables.*']
  const rules = ['quiet', ...classes.map((it) => `dontinline,${it}::*`)]
  const notInlined = await using(
    rules.map((it) => `-XX:CompileCommand=${it}`),
    round,
  )
  return {
    share: samples === null ? Number.NaN : samples.root / samples.all,
    notInlined: notInlined / bare,
  }
}

async function measure(jdk, prepared, program, root, scheme) {
  const jvm = new ProgramJvm(jdk, prepared, program)
  try {
    await jvm.ready()
    await jvm.settle(BARE_SETTLE_MS)
    const bare = await rounds(() => jvm.round(ROUND_MS))
    const session = await profileProgram(jvm.pid, root, scheme, program.flags)
    const settled = await jvm.settle(SETTLE_MS)
    const client = process.cpuUsage()
    const profiled = await rounds(() => profiledRound(jvm, session, ROUND_MS))
    const { user, system } = process.cpuUsage(client)
    const samples = await jvm.sample(SAMPLE_MS)
    await session.detach()
    const { calibration, instrumentation } = await session.profile()
    await session.close()
    await jvm.settle(AFTER_SETTLE_MS)
    const after = await rounds(() => jvm.round(ROUND_MS))
    const during = profiled.reduce((sum, it) => sum + it.wall * it.runs, 0)
    return {
      ...{ bare, profiled, samples, after, settled, instrumentation },
      probeNs: calibration.innerNs + calibration.outerNs,
      processing: (user + system) / 1e3 / during,
      waited: profiled.reduce((sum, it) => sum + it.waitMs, 0) / during,
    }
  } finally {
    await jvm.end()
  }
}

async function rounds(one) {
  const all = []
  while (all.length < ROUNDS) all.push(await one())
  return all
}

const HEAD = `| program | s | calls | bare | root | charged | / root | / root, on a core | app's by samples / bare | not inlined / bare | total | ovhd % | report | ns a call | instr. %, calibrated / sampled | wait % | H/S ms | analysis ms | proc. % | instr. | called | settled after, s | after / bare |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |`

/**
 * *On a core*: without the time in which the thread waited for a core, relative to CPU time. *App's by samples*: the CPU time of a sampled
 * run outside the probes, relative to the whole program's CPU time.
 */
function print(program, scheme, row, apart, table) {
  const { bare, profiled, samples, settled, instrumentation: it } = row
  const middle = (rounds, of) => median(rounds.map(of))
  const bareWall = middle(bare, ({ wall }) => wall)
  const bareCpu = middle(bare, ({ cpu }) => cpu)
  const share = table === 2 ? apart.share : 1
  const calls = middle(profiled, (one) => one.calls)
  const total = middle(profiled, ({ wall }) => wall)
  const overhead = (total / bareWall - 1) * 100
  const charged = profiled.map((one) => one.charged / (bareWall * share))
  // It is unknown where the thread waited for a core. The same share is assumed inside and outside the root.
  const onCore = profiled.map((one) => {
    const inside = Math.min(1, (one.charged + (row.probeNs * one.calls) / 1e6) / one.wall)
    return (one.charged - one.queued * inside) / (bareCpu * share)
  })
  const report = program.overhead[table - 1] ?? null
  const columns = [
    ...[program.title, scheme, calls < 1e5 ? calls.toFixed(0) : `${(calls / 1e6).toFixed(2)}M`],
    range(
      bare.map(({ wall }) => wall),
      1,
    ),
    `${(bareWall * share).toFixed(1)} (${(share * 100).toFixed(0)} %)`,
    middle(profiled, (one) => one.charged).toFixed(1),
    ...[range(charged, 2), range(onCore, 2)],
    samples === null ? '-' : ((samples.cpu * (1 - samples.probes / samples.all)) / bareCpu).toFixed(2),
    apart.notInlined.toFixed(2),
    range(
      profiled.map(({ wall }) => wall),
      1,
    ),
    ...[overhead.toFixed(overhead < 10 ? 1 : 0), report ?? '-'],
    range(
      profiled.map(({ cpu }) => ((cpu - bareCpu) / calls) * 1e6),
      1,
    ),
    `${((row.probeNs * calls) / 1e4 / middle(profiled, ({ cpu }) => cpu)).toFixed(0)} / ${samples === null ? '-' : ((samples.probes / samples.all) * 100).toFixed(0)}`,
    ...[(row.waited * 100).toFixed(0), it.hotSwapMs.toFixed(0), it.analysisMs.toFixed(0)],
    ...[(row.processing * 100).toFixed(0), it.instrumentedMethods, it.calledMethods],
    `${settled.compiling ? '> ' : ''}${settled.seconds.toFixed(0)}`,
    (middle(row.after, ({ cpu }) => cpu) / bareCpu).toFixed(2),
  ]
  console.log(`| ${columns.join(' | ')} |`)
  const goals = []
  if (report !== null && report > 100)
    goals.push(verdict(overhead * 5 <= report, `overhead <= ${report / 5} %`))
  const ratio = median(charged)
  const [least, most] = (bareWall * share * 1e6) / calls >= LONG_CALL_NS ? [0.95, 1.05] : [0.77, 1.3]
  goals.push(verdict(ratio >= least && ratio <= most, `charged ${least}-${most} of the root's`))
  console.log(`<!-- ${program.title} ${scheme}: ${goals.join('; ')} -->`)
}
