// node test/lanes/slowest.mjs <rows>: prints the ten slowest test files of all lanes, from the rows that JFLUID_SECONDS has collected.

import { readFileSync } from 'node:fs'

const SLOWEST = 10

const rows = readFileSync(process.argv[2], 'utf8')
  .split('\n')
  .filter((line) => line !== '')
  .map((line) => JSON.parse(line))
  .sort((a, b) => b.seconds - a.seconds)
console.log(`the slowest of ${rows.length} test files:`)
for (const { seconds, lane, file } of rows.slice(0, SLOWEST)) {
  console.log(`  ${seconds.toFixed(1).padStart(6)} s  ${lane.padEnd(5)}  ${file}`)
}
