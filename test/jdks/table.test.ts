// The table of JDKs in docs/jdks.md, which a script writes.

import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { OLDEST_JDK, SINCE, TESTED_JDKS } from '../../src/base/jdk-releases.ts'
import { COLUMNS, RESULTS, readTable, rowsOf, runText, TARGETS, tableText, withTable } from './table-text.mjs'

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8')
const document = read('../../docs/jdks.md')

const test = (jdk: number, title: string, status = 'passed') => ({
  ancestorTitles: [`tests on JDK ${jdk}`, `${jdk}.0.1 (Vendor)`],
  ...{ title, status, duration: status === 'skipped' ? 0 : 1_600 },
})

it('docs/jdks.md has the table in the form in which the script writes it', () => {
  const { run, rows } = readTable(document)
  expect(withTable(document, tableText(run, rows))).toBe(document)
  // Sources that differ from each commit cannot be looked up.
  expect(run).toMatch(/^\d{4}-\d\d-\d\d, commit (?:[0-9a-f]{12}|unknown)$/)
  expect(rows.map(({ jdk }) => jdk)).toEqual(TARGETS)
  for (const { jdk, version, results } of rows) {
    expect(results).toHaveLength(COLUMNS.length)
    for (const result of results) expect(RESULTS).toContain(result)
    const hasRun = results.some((it) => it !== 'not run')
    // A first release has the version 27, and a JDK whose tests were skipped has a version.
    expect(version).toMatch(new RegExp(`^${jdk}\\b${hasRun ? '' : '|^$'}`))
  }
})

it('the table, the client and the agent have the same releases', () => {
  expect(TARGETS).toEqual(TESTED_JDKS)
  const java = (file: string, constant: RegExp): number =>
    Number(constant.exec(read(`../../backend-java/${file}`))?.[1])
  const release = 'runtime/java/lang/JFluid1Release.java'
  expect(java('boot/jfluid/Boot.java', /OLDEST_JDK = (\d+);/)).toBe(OLDEST_JDK)
  expect(java('agent/jfluid/agent/Main.java', /UNIX_SOCKETS = (\d+);/)).toBe(SINCE.UNIX_SOCKETS)
  expect(java(release, /HAS_UNIX_SOCKETS = FEATURE >= (\d+);/)).toBe(SINCE.UNIX_SOCKETS)
  expect(java(release, /HAS_REFERS_TO = FEATURE >= (\d+);/)).toBe(SINCE.REFERS_TO)
})

it('the tests of each column exist', () => {
  const titles = [...read('../live/each-target.full.jvm.test.ts').matchAll(/it\('([^']+)'/g)].map(
    (it) => it[1]!,
  )
  for (const column of COLUMNS)
    expect(titles.filter((title) => title.startsWith(`${column}:`))).toHaveLength(1)
})

it('a column is passed if its tests have passed, failed if one has failed, and otherwise not run', () => {
  const tests = [
    test(17, 'attach: works'),
    test(17, 'counts: are exact', 'failed'),
    test(17, 'states: are right', 'skipped'),
  ]
  expect(rowsOf(tests)).toEqual([
    { jdk: 17, version: '17.0.1 (Vendor)', results: ['passed', 'failed', 'not run', 'not run'], seconds: 3 },
  ])
})

it('a JDK that was not found has a row that says so', () => {
  const text = tableText('2026-01-31', rowsOf([test(25, 'attach: works')]))
  expect(text.split('\n')).toContain('| 11 | – | not run | not run | not run | not run | – |')
  expect(text.split('\n')).toContain('| 25 | 25.0.1 (Vendor) | passed | not run | not run | not run | 2 |')
})

it('a table of sources that differ from their commit has a text that docs/jdks.md may not have', () => {
  expect(runText('2026-01-31', '0123456789ab', false)).toBe('2026-01-31, commit 0123456789ab')
  expect(runText('2026-01-31', '0123456789ab', true)).toBe('2026-01-31, commit 0123456789ab with changes')
  expect(runText('2026-01-31', null, false)).toBe('2026-01-31, commit unknown')
})
