// The bench of decoding and tree building (decode.mjs), in a process of its own and in short.

import { join } from 'node:path'
import { Child, verdict } from './support.mjs'

const GOAL = 40

export async function decode() {
  const child = new Child(process.execPath, ['--expose-gc', join(import.meta.dirname, 'decode.mjs')], {
    env: { JFLUID_BENCH_ROUNDS: '5', JFLUID_BENCH_EVENTS: '4000000' },
    onLine: (line) => console.log(line),
  })
  // The first of them is the tree of 10,000 contexts.
  const median = Number((await child.line(/^ *sweep/)).trim().split(/ +/)[2])
  const code = await child.exit
  if (code !== 0) throw new Error(`decode.mjs ended with ${code}\n${child.stderr}`)
  console.log(`  sweep of 10,000 contexts, median: ${verdict(median >= GOAL, `>= ${GOAL} M events/s`)}`)
}
