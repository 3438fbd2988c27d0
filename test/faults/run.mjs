// npm run faults [-- [--keep] name …]: runs all faults, or the faults of test files whose names begin with one of the names, many times.
// Prints a table of the results. With --keep the rows are stored, and RESULTS.md is written.
//
// JFLUID_TRIES sets the number of trials. JFLUID_SEED repeats a run.

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
// Ctrl-C ends the tests only. The table shows the results so far.
process.on('SIGINT', () => {})
const { status } = spawnSync('npx', ['vitest', 'run', ...tests], {
  stdio: 'inherit',
  env: { ...process.env, JFLUID_FULL: '1', JFLUID_FAULTS: file },
})
const rows = merged([], values.keep ? keep([file]) : readRows(file).map((row) => ({ ...row, commit: '' })))
rmSync(dir, { recursive: true })
console.log(`\nNode ${process.version}, ${cpus().length} × ${cpus()[0]?.model}\n\n${table(rows)}`)
process.exit(status ?? 1)
