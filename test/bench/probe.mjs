// Cost of a call of a tiny method, in ns: bare, instrumented inside the graph and outside the graph, and with the minimum work of a probe,
// written manually with the JDK alone (two readings of System.nanoTime(), two 8-byte stores).
//
// All measurements run in one JVM, so the columns of a block can be compared. Wall time includes waiting for the client (the wait column
// shows how much of it). CPU time includes neither this waiting nor the time of other load on the machine.

import { join } from 'node:path'
import { Child, compile, median, spread, startSession, verdict } from './support.mjs'

const ROOT = 'bench.Probe.root'
const ROUNDS = 7
const ROUND_MS = 150
const WARM_UP_MS = 600
const THREADS = [1, 2]
/** Goal of the ratio inside / reference, up to JDK 21 and from JDK 22 on. */
const GOAL = 1.1
const GOAL_FROM_22 = 0.5
const OUTSIDE_GOAL_NS = 4
const COUNTED_GOAL_NS = 4
const EXPORTS = ['--add-exports=java.base/jdk.internal.misc=ALL-UNNAMED']

export async function probe(jdks) {
  for (const jdk of jdks) await onJdk(jdk)
}

async function onJdk(jdk) {
  const classes = await compile(jdk, [join(import.meta.dirname, 'java/bench/Probe.java')], EXPORTS)
  console.log(`\n${jdk.name}: ns a call, ${ROUNDS} rounds of ${ROUND_MS} ms; min, median, max`)
  console.log(`  ${'loop'.padEnd(34)} threads ${'wall'.padStart(17)} ${'CPU'.padStart(24)}`)
  const java = new Child(jdk.java, [...EXPORTS, '-cp', classes, 'bench.Probe'])
  let session
  const measure = async (loop, threads, label) => {
    const waited = (await session?.status())?.waitMs ?? 0
    const begun = performance.now()
    const answer = await java.ask(
      `measure ${loop} ${threads} ${WARM_UP_MS} ${ROUNDS} ${ROUND_MS}`,
      /^measured/,
    )
    const spent = performance.now() - begun
    const rounds = answer
      .split(' ')
      .slice(1)
      .map((pair) => pair.split(':').map(Number))
    const wall = rounds.map(([w]) => w)
    const cpu = rounds.map(([, c]) => c)
    const wait = (((await session?.status())?.waitMs ?? 0) - waited) / spent / threads
    const note = wait > 0.001 ? `   wait ${(wait * 100).toFixed(1)} %` : ''
    console.log(`  ${label.padEnd(34)} ${threads}    ${spread(wall)} ${spread(cpu)}${note}`)
    return { wall: median(wall), cpu: median(cpu), wait }
  }
  try {
    await java.line(/^ready/)
    const reference = {}
    const bare = {}
    for (const threads of THREADS) {
      bare[threads] = await measure('root', threads, 'bare, before attach')
      reference[threads] = [await measure('reference', threads, 'reference, before attach')]
    }
    session = await startSession(java.pid, ROOT)
    void session.ended.then((reason) => console.log(`  THE SESSION ENDED: ${reason}`))
    const inside = {}
    const outside = {}
    for (const threads of THREADS) {
      inside[threads] = await measure('root', threads, 'instrumented, inside')
      reference[threads].push(await measure('reference', threads, 'reference, attached'))
      outside[threads] = await measure('outside', threads, 'instrumented, thread never inside')
      await measure('known', threads, 'instrumented, thread was inside')
    }
    // The root has been called and rare() has probes. The callee of rare() has no probes, since rare() has not run before and was not
    // compiled.
    const unreached = {}
    for (const threads of THREADS)
      unreached[threads] = await measure('unreached', threads, 'not reached, with its check')
    const { instrumentedMethods, calledMethods } = await session.status()
    console.log(`  ${instrumentedMethods} methods with probes, ${calledMethods} called`)
    const stop = session
    session = undefined
    const report = await stop.detach()
    const { calibration, events } = await stop.profile()
    await stop.close()
    const goal = jdk.version >= 22 ? GOAL_FROM_22 : GOAL
    const after = {}
    const bareRare = {}
    for (const threads of THREADS) {
      after[threads] = await measure('root', threads, 'bare, after detach')
      bareRare[threads] = await measure('unreached', threads, 'not reached, after detach')
    }
    session = await startSession(java.pid, ROOT, { mode: 'count' })
    const counted = {}
    for (const threads of THREADS) counted[threads] = await measure('root', threads, 'counted (--mode count)')
    const counting = session
    session = undefined
    await counting.detach()
    await counting.close()
    console.log(
      `  clock ${calibration.clock}, ${calibration.clockMHz?.toFixed(0)} MHz, ${calibration.readNs?.toFixed(1)} ns a reading; t_I ${calibration.innerNs.toFixed(1)} ns, t_O ${calibration.outerNs.toFixed(1)} ns; ${(events.count / 1e6).toFixed(0)} M events; detached in ${report?.ms.toFixed(0)} ms`,
    )
    for (const threads of THREADS) {
      const extra = outside[threads].cpu - bare[threads].cpu
      const check = unreached[threads].cpu - bareRare[threads].cpu
      console.log(
        `  ${threads} thread${threads > 1 ? 's' : ''}: outside, beyond bare ${extra.toFixed(1)} ns, ${verdict(extra <= OUTSIDE_GOAL_NS, `<= ${OUTSIDE_GOAL_NS} ns`)}; of a method not reached ${check.toFixed(1)} ns`,
      )
    }
    for (const threads of THREADS) {
      const [wall, cpu] = ['wall', 'cpu'].map((it) => counted[threads][it] - after[threads][it])
      console.log(
        `  ${threads} thread${threads > 1 ? 's' : ''}: counted, beyond bare ${cpu.toFixed(1)} ns of CPU time, ${wall.toFixed(1)} by wall, ${verdict(Math.max(cpu, wall) <= COUNTED_GOAL_NS, `<= ${COUNTED_GOAL_NS} ns`)}`,
      )
    }
    for (const threads of THREADS) {
      const wall = inside[threads].wall / Math.min(...reference[threads].map((r) => r.wall))
      const cpu = inside[threads].cpu / Math.min(...reference[threads].map((r) => r.cpu))
      const rate = bare[threads].cpu / after[threads].cpu
      console.log(
        `  ${threads} thread${threads > 1 ? 's' : ''}: inside / reference ${cpu.toFixed(2)} by CPU time, ${verdict(cpu <= goal, `<= ${goal}`)}; ${wall.toFixed(2)} by wall, ${verdict(wall <= goal, `<= ${goal}`)}; speed after / before ${(rate * 100).toFixed(1)} % by CPU time`,
      )
    }
  } finally {
    await session?.detach().catch(() => {})
    await session?.close()
    await java.end(null)
  }
}
