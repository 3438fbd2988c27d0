// Cost of scheme adaptive for a program whose thread is always in the root: a root of 5 ms that calls 100 methods of 50 us, all of which
// are timed after some seconds. Prints the CPU time of the process per root call, including the agent's thread, relative to the mean of the
// bare rounds before and after, and the wall time of a call. Sessions and bare rounds alternate in one JVM.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { profileProgram } from './programs.mjs'
import { Child, compile, median, verdict } from './support.mjs'

const ROOT = 'bench.Truth$Spin.root'
const WARM_MS = 5_000
const ROUND_MS = 4_000
const SESSIONS = 7
/** Time from the attach until the expensive methods are timed and their code is compiled. */
const SETTLED_MS = 15_000
const MOST_PERCENT = 2.5
const TICK_MS = 10

export async function adaptive(jdks) {
  for (const jdk of jdks) {
    const classes = await compile(jdk, [join(import.meta.dirname, 'truth', 'Truth.java')])
    const java = new Child(jdk.java, ['-Xmx256m', '-cp', classes, 'bench.Truth', '5ms'])
    try {
      await java.line(/^ready/)
      await round(java, WARM_MS)
      const cpus = []
      const walls = []
      let before = await round(java, ROUND_MS)
      while (cpus.length < SESSIONS) {
        const session = await profileProgram(java.pid, ROOT, 'adaptive')
        await round(java, SETTLED_MS)
        const profiled = await round(java, ROUND_MS)
        const { stacks, instrumentedMethods } = await session.status()
        const { merged } = await session.snapshot(false)
        const timed = merged.metrics.calls.filter((calls) => calls > 0).length
        await session.detach()
        await session.close()
        await round(java, WARM_MS) // the original code is compiled again
        const after = await round(java, ROUND_MS)
        if (timed < 2) throw new Error('no method below the root has been timed')
        for (const [all, key] of [
          [cpus, 'cpu'],
          [walls, 'wall'],
        ])
          all.push(((2 * profiled[key]) / (before[key] + after[key]) - 1) * 100)
        console.log(
          `  ${jdk.name}: a call ${(before.wall / 1e6).toFixed(3)} ms bare, then ${(profiled.wall / 1e6).toFixed(3)}, and ${(after.wall / 1e6).toFixed(3)}; ${stacks?.samples} samples, ${instrumentedMethods} methods with probes, ${timed} contexts with calls`,
        )
        before = after
      }
      const text = (all) =>
        `${Math.min(...all).toFixed(2)} / ${median(all).toFixed(2)} / ${Math.max(...all).toFixed(2)} %`
      console.log(
        `${jdk.name}: a root of 5 ms takes ${text(cpus)} more CPU time (min / median / max of ${SESSIONS} sessions), ${verdict(median(cpus) <= MOST_PERCENT, `${MOST_PERCENT} %`)}; ${text(walls)} more wall time`,
      )
    } finally {
      await java.end()
    }
  }
}

/** Returns the time of a root call in ns: wall time inside the root, and CPU time of the process. */
async function round(java, ms) {
  const cpu = cpuMs(java.pid)
  const [, calls, wall] = (await java.ask(`measure ${ms}`, /^measured/)).split(' ').map(Number)
  return { wall, cpu: ((cpuMs(java.pid) - cpu) * 1e6) / calls }
}

/** Returns user and system time in ms. The clock of these times ticks every 10 ms. */
function cpuMs(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ')
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS
}
