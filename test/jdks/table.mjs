// Runs test/live/each-target.jvm.test.ts on every JDK that is found, and writes the results into docs/jdks.md: `npm run jdks:table`.
// Exits with 1 if a test has failed; the table then says so.

import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { prepare } from '../support/prepare.mjs'
import { rowsOf, tableText, withTable } from './table-text.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const document = join(root, 'docs/jdks.md')

prepare()
const directory = mkdtempSync(join(tmpdir(), 'jfluid-jdks-'))
const file = join(directory, 'results.json')
const vitest = ['node_modules/vitest/vitest.mjs', 'run', 'test/live/each-target.jvm.test.ts']
const env = { ...process.env, JFLUID_LANE: 'live' }
delete env.JFLUID_TEST_JDK
const { status } = spawnSync(
  process.execPath,
  [...vitest, '--reporter=default', '--reporter=json', `--outputFile.json=${file}`],
  { cwd: root, stdio: 'inherit', env },
)
const { testResults } = JSON.parse(readFileSync(file, 'utf8'))
rmSync(directory, { recursive: true })
const rows = rowsOf(testResults.flatMap(({ assertionResults }) => assertionResults))
if (rows.length === 0) throw new Error('no test has run')
const text = tableText(new Date().toISOString().slice(0, 10), rows)
writeFileSync(document, withTable(readFileSync(document, 'utf8'), text))
console.log(text)
process.exitCode = status ?? 1
