// Cost of a root call in mode alloc, which reads the thread's allocation counter at its begin and its end. A root call in mode count, which
// reads no counter, is the reference. All measurements of a JDK run in one JVM, with a root that allocates nothing.

import { join } from 'node:path'
import { Child, compile, spread, startSession } from './support.mjs'

const ROUNDS = 7
const CALLS = 500_000

export async function allocatedRoot(jdks) {
  for (const jdk of jdks) await onJdk(jdk)
}

async function onJdk(jdk) {
  const classes = await compile(jdk, [join(import.meta.dirname, 'java/bench/AllocatedRoot.java')])
  console.log(`\n${jdk.name}: ns of CPU time a call, ${ROUNDS} rounds of ${CALLS} calls; min, median, max`)
  const java = new Child(jdk.java, ['-cp', classes, 'bench.AllocatedRoot'])
  const measure = async (loop, label) => {
    const answer = await java.ask(`measure ${loop} ${ROUNDS} ${CALLS}`, /^measured/)
    const rounds = answer.split(' ').slice(1)
    const [ns, bytes] = [0, 1].map((i) => rounds.map((it) => Number(it.split(':')[i])))
    console.log(`  ${label.padEnd(28)} ${spread(ns)}   bytes a call ${Math.max(...bytes).toFixed(3)}`)
  }
  try {
    await java.line(/^ready/)
    await measure('root', 'root, bare')
    await measure('counter', 'a reading of the counter')
    for (const mode of ['count', 'alloc']) {
      const session = await startSession(java.pid, 'bench.AllocatedRoot.root', { mode })
      await measure('root', `root, --mode ${mode}`)
      await session.detach()
      await session.close()
    }
  } finally {
    await java.end()
  }
}
