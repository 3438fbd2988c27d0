// Response time of the client: `jfluid --help`, `jfluid ps` and `jfluid --version`, compared with a Node.js that does nothing.

import { execFileSync } from 'node:child_process'
import { cli, median } from './support.mjs'

const ROUNDS = 21
const COMMANDS = [
  ['node -e 0', ['-e', '0']],
  ['jfluid --version', [cli, '--version']],
  ['jfluid --help', [cli, '--help']],
  ['jfluid record --help', [cli, 'record', '--help']],
  ['jfluid ps', [cli, 'ps']],
]

export async function start() {
  const times = COMMANDS.map(() => [])
  // The commands alternate, so that other load on the machine affects all of them.
  for (let round = 0; round < ROUNDS; round++) {
    for (const [i, [, args]] of COMMANDS.entries()) {
      const begun = performance.now()
      execFileSync(process.execPath, args, { stdio: 'ignore' })
      times[i].push(performance.now() - begun)
    }
  }
  const bare = median(times[0])
  console.log('| command | min / median / max ms | / node -e 0 |')
  console.log('| --- | --- | --- |')
  for (const [i, [name]] of COMMANDS.entries()) {
    const all = times[i]
    const text = [Math.min(...all), median(all), Math.max(...all)].map((it) => it.toFixed(0)).join(' / ')
    console.log(`| ${name} | ${text} | ${(median(all) / bare).toFixed(2)} |`)
  }
  console.log('goal: --help and ps in at most 150 ms')
}
