// npm run faults [-- name …]: tries the faults many times and prints the table of RESULTS.md.
// JFLUID_TRIES says how often.

import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'

const dir = mkdtempSync(join(tmpdir(), 'jfluid-faults-'))
const rows = join(dir, 'rows')
writeFileSync(rows, '')
const names = process.argv.slice(2)
const tests = names.length === 0 ? ['test/faults'] : names.map((name) => `test/faults/${name}`)
const { status } = spawnSync('npx', ['vitest', 'run', ...tests], {
  stdio: 'inherit',
  env: { ...process.env, JFLUID_FULL: '1', JFLUID_FAULTS: rows },
})
const told = readFileSync(rows, 'utf8').trim()
rmSync(dir, { recursive: true })
console.log(`\nNode ${process.version}, ${cpus().length} × ${cpus()[0]?.model}\n`)
console.log('| fault | JDK | tried | target harmed | profiles kept | left behind | longest |')
console.log('| --- | --- | --: | --: | --: | --: | --- |')
for (const line of told === '' ? [] : told.split('\n')) {
  const { fault, jdk, tried, harmed, profilesDue, profilesKept, leftBehind, ms } = JSON.parse(line)
  const longest = Object.entries(ms).map(([name, value]) => `${name} ${Math.round(value)} ms`)
  const kept = profilesDue === 0 ? '–' : `${profilesKept} of ${profilesDue}`
  console.log(
    `| ${fault} | ${jdk} | ${tried} | ${harmed} | ${kept} | ${leftBehind} | ${longest.join(', ')} |`,
  )
}
process.exit(status ?? 1)
