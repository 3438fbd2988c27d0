// A budget for the overhead (--max-overhead), second by second, on call-dense programs of the report's tables: what jfluid says that it costs, by calibrated
// probes, waiting and pauses; how many methods are folded; and how much longer a run takes than bare, which also has what
// the compilers lose and what the client uses of the processors.
//
// One JVM a program, each budget from a warm program on. BENCH_PROGRAMS chooses others, BENCH_SECONDS how long.

import { PROGRAMS, ProgramJvm, preparePrograms, profileProgram, WHOLE } from './programs.mjs'
import { median } from './support.mjs'

const BUDGETS = [0.05, 0.2]
const CALL_DENSE = ['RayTracer', 'Compress']
const SECONDS = Number(process.env.BENCH_SECONDS ?? 30)
const SETTLE_MS = 8_000
/** The first seconds are not held to the budget. */
const GRACE_MS = 6_000

export async function budget(jdks) {
  const names = process.env.BENCH_PROGRAMS?.split(',') ?? CALL_DENSE
  for (const jdk of jdks) {
    const prepared = await preparePrograms(jdk)
    for (const program of PROGRAMS.filter(({ name }) => names.includes(name))) {
      const jvm = new ProgramJvm(jdk, prepared, program)
      try {
        await jvm.ready()
        await jvm.settle(SETTLE_MS)
        const bare = median(await seconds(5, () => jvm.round(1000))).toFixed(3)
        for (const most of BUDGETS) await watch(jdk, jvm, program, most, Number(bare))
      } finally {
        await jvm.end()
      }
    }
  }
}

async function seconds(times, one) {
  const all = []
  while (all.length < times) all.push((await one()).wall)
  return all
}

async function watch(jdk, jvm, program, most, bare) {
  const session = await profileProgram(jvm.pid, WHOLE, 'b', program.flags, { maxOverhead: most })
  const runs = await seconds(SECONDS, () => jvm.round(1000))
  await session.detach()
  const { overhead } = await session.profile()
  await session.close()
  console.log(
    `\n${jdk.name}, ${program.title}, budget ${percent(most)} %; bare ${bare.toFixed(1)} ms a run; ${overhead.changes} changes, ${overhead.counted.length} methods only counted, ${overhead.folded.length} folded at the end`,
  )
  const row = (title, cells) =>
    console.log(`  ${title.padEnd(20)} ${cells.map((it) => it.padStart(5)).join('')}`)
  row(
    'overhead, %',
    overhead.windows.map(({ part }) => percent(part)),
  )
  row(
    'counted methods',
    overhead.windows.map(({ counted }) => String(counted)),
  )
  row(
    'folded methods',
    overhead.windows.map(({ folded }) => String(folded)),
  )
  row(
    'a run / bare',
    runs.map((ms) => (ms / bare).toFixed(2)),
  )
  const held = overhead.windows.filter(({ atMs }) => atMs > GRACE_MS)
  const parts = held.map(({ part }) => part)
  console.log(
    `  after 5 s: ${parts.filter((it) => it <= most).length} of ${parts.length} windows within the budget, median ${percent(median(parts))} %, most ${percent(Math.max(...parts))} %`,
  )
}

function percent(part) {
  return (part * 100).toFixed(1)
}
