// Cost of each mode on whole programs, compared with exact time: separate waits, calls only, allocations (all, a sample, and the live
// objects of a sample), and bytecodes with the default and with precise basic blocks. Also measures by how much the default analysis
// overestimates if programs throw exceptions (JP, section 6: factors of 1.9 to 3.3, and errors of 0 to 6.5e-3).
//
// One JVM per program: bare rounds first, then one session after the other, each until the compilers are quiet. BENCH_PROGRAMS selects
// rows, BENCH_MODES=count,default selects columns (calls and bytecodes are taken from `count` and `precise`), BENCH_BY=wall uses wall time
// instead of CPU time of the program's thread.

import {
  countedRound,
  endSession,
  PROGRAMS,
  ProgramJvm,
  preparePrograms,
  profileProgram,
  range,
  WHOLE,
  wanted,
} from './programs.mjs'
import { geometric, median } from './support.mjs'

const ROUNDS = 5
const ROUND_MS = 500
const BARE_SETTLE_MS = 12_000
const SETTLE_MS = 20_000

const ALL_MODES = [
  { title: 'exact', flags: {} },
  { title: 'locks', flags: { mode: 'locks' } },
  { title: 'count', flags: { mode: 'count' } },
  { title: 'alloc', flags: { mode: 'alloc' } },
  { title: 'alloc, 1 of 100', flags: { mode: 'alloc' }, options: { sampleEvery: 100 } },
  { title: 'alloc --liveness', flags: { mode: 'alloc', liveness: true } }, // 1 of 100 objects, and a probe after each constructor
  { title: 'default', flags: { mode: 'bytecodes' } },
  {
    title: 'precise',
    flags: { mode: 'bytecodes' },
    options: { blocks: { name: 'precise', analysis: 'precise' } },
  },
]

const BY = process.env.BENCH_BY ?? 'cpu'
const MODES = ALL_MODES.filter(({ title }) => process.env.BENCH_MODES?.split(',').includes(title) ?? true)

export async function modes(jdks) {
  for (const jdk of jdks) {
    console.log(
      `\n${jdk.name}: ${BY === 'cpu' ? 'CPU time' : 'wall time'} of a run / bare, ${ROUNDS} rounds of ${ROUND_MS} ms, min / median / max; scheme B`,
    )
    const titles = MODES.map(({ title }) => title)
    console.log(`| program | calls | bytecodes | bare, ms | ${titles.join(' | ')} | default / precise - 1 |`)
    console.log(
      `| ${Array(titles.length + 5)
        .fill('---')
        .join(' | ')} |`,
    )
    const prepared = await preparePrograms(jdk)
    const factors = new Map(titles.map((it) => [it, []]))
    for (const program of PROGRAMS.filter(wanted)) {
      try {
        const row = await measure(jdk, prepared, program)
        const [byDefault, precise] = ['default', 'precise'].map((it) => row.each.get(it)?.cost ?? Number.NaN)
        const columns = titles.map((it) => range(row.each.get(it).factors, 2))
        for (const it of titles) factors.get(it).push(median(row.each.get(it).factors))
        const error = byDefault / precise - 1
        console.log(
          `| ${program.title} | ${row.each.get('count')?.calls.toFixed(0)} | ${precise.toFixed(0)} | ${row.bare.toFixed(1)} | ${columns.join(' | ')} | ${error.toExponential(2)} |`,
        )
      } catch (error) {
        console.log(`| ${program.title} | FAILED: ${error.message.split('\n')[0]} |`)
      }
    }
    const means = titles.map((it) => geometric(factors.get(it)).toFixed(2))
    console.log(`| geometric mean | | | | ${means.join(' | ')} | |`)
  }
}

async function measure(jdk, prepared, program) {
  const jvm = new ProgramJvm(jdk, prepared, program)
  try {
    await jvm.ready()
    await jvm.settle(BARE_SETTLE_MS)
    const bare = median((await rounds(() => jvm.round(ROUND_MS))).map((it) => it[BY]))
    const each = new Map()
    for (const { title, flags, options } of MODES) {
      const session = await profileProgram(jvm.pid, WHOLE, 'b', { ...program.flags, ...flags }, options)
      await jvm.settle(SETTLE_MS)
      const profiled = await rounds(() => countedRound(jvm, session, ROUND_MS))
      await endSession(session)
      each.set(title, {
        factors: profiled.map((it) => it[BY] / bare),
        cost: median(profiled.map(({ cost }) => cost)),
        calls: median(profiled.map(({ calls }) => calls)),
      })
    }
    return { bare, each }
  } finally {
    await jvm.end()
  }
}

async function rounds(one) {
  const all = []
  while (all.length < ROUNDS) all.push(await one())
  return all
}
