// The bench of decoding and tree building (decode.mjs), in a separate process and in a short form.

import { join } from 'node:path'
import { Child, verdict } from './support.mjs'

/** M events per second through the buffer, keyed by number of contexts. */
const GOALS = { 10000: 60, 1000000: 25 }
const GOAL_BYTES = 64

export async function decode() {
  let contexts = ''
  const verdicts = []
  const child = new Child(process.execPath, ['--expose-gc', join(import.meta.dirname, 'decode.mjs')], {
    env: { JFLUID_BENCH_ROUNDS: '7', JFLUID_BENCH_EVENTS: '4000000' },
    onLine: (line) => {
      console.log(line)
      const tree = /^(\d+) contexts.* ([\d.]+) bytes a node/.exec(line)
      if (tree !== null) {
        contexts = tree[1]
        verdicts.push(
          `${contexts} contexts: ${verdict(tree[2] <= GOAL_BYTES, `<= ${GOAL_BYTES} bytes a node`)}`,
        )
      }
      const rate = /^ *mix +[\d.]+ +([\d.]+).*?(through the buffer)?(?: \(.*)?$/.exec(line)
      if (rate === null) return
      const goal = GOALS[contexts]
      const where = rate[2] ?? 'in memory'
      verdicts.push(
        `${contexts} contexts, mix, ${where}: ${verdict(rate[1] >= goal, `>= ${goal} M events/s`)}`,
      )
    },
  })
  const code = await child.exit
  if (code !== 0) throw new Error(`decode.mjs ended with ${code}\n${child.stderr}`)
  for (const line of verdicts) console.log(`  ${line}`)
}
