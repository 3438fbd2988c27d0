// The table of JDKs in docs/jdks.md, which a script writes.

import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { NEWEST_JDK, OLDEST_JDK } from '../../src/base/jdk-releases.ts'
import { COLUMNS, RESULTS, readTable, rowsOf, TARGETS, tableText, withTable } from './table-text.mjs'

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8')
const document = read('../../docs/jdks.md')

const test = (jdk: number, title: string, status = 'passed') => ({
  ancestorTitles: [`tests on JDK ${jdk}`, `${jdk}.0.1 (Vendor)`],
  title,
  status,
})

it('docs/jdks.md has the table in the form in which the script writes it', () => {
  const { date, rows } = readTable(document)
  expect(withTable(document, tableText(date, rows))).toBe(document)
  expect(date).toMatch(/^\d{4}-\d\d-\d\d$/)
  expect(rows.map(({ jdk }) => jdk)).toEqual(TARGETS)
  for (const { jdk, version, results } of rows) {
    expect(results).toHaveLength(COLUMNS.length)
    for (const result of results) expect(RESULTS).toContain(result)
    const hasRun = results.some((it) => it !== 'not run')
    // A first release has the version 27, and a JDK whose tests were skipped has a version.
    expect(version).toMatch(new RegExp(`^${jdk}\\b${hasRun ? '' : '|^$'}`))
  }
})

it('the targets, the client and the agent have the same oldest and newest release', () => {
  const [, oldest] = /OLDEST_JDK = (\d+);/.exec(read('../../backend-java/boot/jfluid/Boot.java')) ?? []
  expect(Number(oldest)).toBe(OLDEST_JDK)
  expect([TARGETS.at(0), TARGETS.at(-1)]).toEqual([OLDEST_JDK, NEWEST_JDK])
})

it('the tests of each column exist', () => {
  const titles = [...read('../live/each-target.jvm.test.ts').matchAll(/it\('([^']+)'/g)].map((it) => it[1]!)
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
    { jdk: 17, version: '17.0.1 (Vendor)', results: ['passed', 'failed', 'not run', 'not run'] },
  ])
})

it('a JDK that was not found has a row that says so', () => {
  const text = tableText('2026-01-31', rowsOf([test(25, 'attach: works')]))
  expect(text.split('\n')).toContain('| 11 | – | not run | not run | not run | not run |')
  expect(text.split('\n')).toContain('| 25 | 25.0.1 (Vendor) | passed | not run | not run | not run |')
})
