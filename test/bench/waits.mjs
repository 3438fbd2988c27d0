// Cost of reporting waits: a call of a tiny method, and a monitor that no other thread needs, in ns: bare, in mode exact, and in mode
// locks. All measurements of a JDK use one JVM.

import { join } from 'node:path'
import { Child, compile, median, spread, startSession } from './support.mjs'

const ROUNDS = 5
const ROUND_MS = 150
const WARM_UP_MS = 600
const EXPORTS = [
  '--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED',
  '--add-exports=jdk.jfr/jdk.jfr.internal=ALL-UNNAMED',
]

export async function waits(jdks) {
  for (const jdk of jdks) {
    const classes = await compile(jdk, [join(import.meta.dirname, 'java/bench/Probe.java')], EXPORTS)
    console.log(`\n${jdk.name}: ns of CPU time, ${ROUNDS} rounds of ${ROUND_MS} ms; min, median, max`)
    const java = new Child(jdk.java, [...EXPORTS, '-cp', classes, 'bench.Probe'])
    const measure = async (loop, label) => {
      const answer = await java.ask(`measure ${loop} 1 ${WARM_UP_MS} ${ROUNDS} ${ROUND_MS}`, /^measured/)
      const pairs = answer.split(' ').slice(1)
      const cpu = pairs.map((pair) => Number(pair.split(':')[1]))
      console.log(`  ${label.padEnd(34)} ${spread(cpu)}`)
      return median(cpu)
    }
    try {
      await java.line(/^ready/)
      for (const [loop, what] of [
        ['root', 'a call'],
        ['guarded', 'a free monitor'],
      ]) {
        await measure(loop, `${what}, bare`)
        for (const mode of ['exact', 'locks']) {
          const session = await startSession(java.pid, `bench.Probe.${loop}`, { mode })
          await measure(loop, `${what}, ${mode}`)
          await session.detach()
          const { innerNs, outerNs } = (await session.profile()).calibration
          await session.close()
          console.log(`    t_I ${innerNs.toFixed(1)}, t_O ${outerNs.toFixed(1)}`)
        }
      }
    } finally {
      java.end()
    }
  }
}
