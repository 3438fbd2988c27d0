// Runs test/live/each-target.full.jvm.test.ts on every JDK that is found, and writes the results into docs/jdks.md: `npm run jdks:table`.
// Exits with 1 if a test has failed, and the table then contains the failure. If no test has run, the table stays as it was.

import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { prepare } from '../support/prepare.mjs'
import { rowsOf, runText, tableText, withTable } from './table-text.mjs'

const EX_SOFTWARE = 70
const SOURCES = ['src', 'backend-java']
const root = fileURLToPath(new URL('../..', import.meta.url))
const document = join(root, 'docs/jdks.md')

/** Runs the tests. Returns the exit code, and the results; null if vitest ended without results. */
function results() {
  const directory = mkdtempSync(join(tmpdir(), 'jfluid-jdks-'))
  try {
    const file = join(directory, 'results.json')
    const vitest = ['node_modules/vitest/vitest.mjs', 'run', 'test/live/each-target.full.jvm.test.ts']
    const env = { ...process.env, JFLUID_LANE: 'full', JFLUID_FULL: '1' }
    delete env.JFLUID_TEST_JDK
    const { status } = spawnSync(
      process.execPath,
      [...vitest, '--reporter=default', '--reporter=json', `--outputFile.json=${file}`],
      { cwd: root, stdio: 'inherit', env },
    )
    const tests = existsSync(file)
      ? JSON.parse(readFileSync(file, 'utf8')).testResults.flatMap(({ assertionResults }) => assertionResults)
      : []
    return { status: status ?? 1, rows: rowsOf(tests) }
  } finally {
    rmSync(directory, { recursive: true })
  }
}

/** Returns the last commit that changed client or agent, and whether these differ from it. */
function sources() {
  const git = (...args) => spawnSync('git', args, { cwd: root, encoding: 'utf8' }).stdout?.trim() ?? ''
  const commit = git('log', '-1', '--abbrev=12', '--format=%h', '--', ...SOURCES) || null
  return { commit, isChanged: git('status', '--porcelain', '--', ...SOURCES) !== '' }
}

prepare()
const { commit, isChanged } = sources()
const { status, rows } = results()
if (rows.length === 0) {
  console.error('jfluid: no test has run, so docs/jdks.md was not changed: see the output of vitest above')
  process.exitCode = EX_SOFTWARE
} else {
  const text = tableText(runText(new Date().toISOString().slice(0, 10), commit, isChanged), rows)
  writeFileSync(document, withTable(readFileSync(document, 'utf8'), text))
  console.log(text)
  process.exitCode = status
}
