// npm run faults [-- [--keep] name …]: tries the faults many times, or those of the test files that begin so, and prints a table of
// them. With --keep the rows are kept, and RESULTS.md is written anew.
//
// JFLUID_TRIES says how often, JFLUID_SEED repeats a run.

import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { keep, merged, readRows, table } from './report.mjs'

const { values, positionals: names } = parseArgs({
  options: { keep: { type: 'boolean' } },
  allowPositionals: true,
})
const tests = (names.length === 0 ? [''] : names).flatMap((name) => [
  `test/faults/${name}`,
  `test/security/${name === '' ? 'fuzz-' : name}`,
])
const dir = mkdtempSync(join(tmpdir(), 'jfluid-faults-'))
const file = join(dir, 'rows')
// Ctrl-C ends the tests, and not the table of what they have found until then.
process.on('SIGINT', () => {})
const { status } = spawnSync('npx', ['vitest', 'run', ...tests], {
  stdio: 'inherit',
  env: { ...process.env, JFLUID_FULL: '1', JFLUID_FAULTS: file },
})
const rows = merged([], values.keep ? keep([file]) : readRows(file).map((row) => ({ ...row, commit: '' })))
rmSync(dir, { recursive: true })
console.log(`\nNode ${process.version}, ${cpus().length} × ${cpus()[0]?.model}\n\n${table(rows)}`)
process.exit(status ?? 1)
