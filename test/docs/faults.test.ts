// RESULTS.md of the fault tests is generated from its rows, and a new row replaces the old row of the same trial.

import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import type { Row } from '../faults/trials.ts'
import { temporaryDirectory } from '../support/java-process.ts'

const faults = fileURLToPath(new URL('../faults', import.meta.url))
const read = (dir: string, name: string): string => readFileSync(join(dir, name), 'utf8')
const report = (...args: string[]): string =>
  execFileSync(process.execPath, [join(faults, 'report.mjs'), ...args], { encoding: 'utf8', stdio: 'pipe' })

type Kept = Row & { readonly commit: string; readonly date: string }
const rowsIn = (dir: string): Kept[] =>
  read(dir, 'rows.jsonl')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Kept)

describe('the report on fault tests, RESULTS.md', () => {
  it('RESULTS.md, the report on fault tests, is generated from its stored rows', () => {
    expect(read(faults, 'RESULTS.md')).toBe(report('--print'))
  })

  it('each stored row of the fault report belongs to an existing test and names a commit', () => {
    for (const { section, fault, commit, date } of rowsIn(faults)) {
      const found = ['faults', 'security'].some((it) =>
        readdirSync(join(faults, '..', it)).some(
          (name) => name.startsWith(`${section}.`) && name.endsWith('.test.ts'),
        ),
      )
      expect(found, section).toBe(true)
      expect([commit, date], fault).toEqual([
        expect.stringMatching(/^[0-9a-f]{7,}\+?$/),
        expect.stringMatching(/^\d{4}-\d\d-\d\d$/),
      ])
    }
  })

  it('the fault report has exactly one section for each fault test', () => {
    const places = [...read(faults, 'RESULTS.md').matchAll(/<!-- rows: (.*) -->/g)].flatMap(([, all]) =>
      all!.split(' '),
    )
    const trying = [faults, join(faults, '../security')].flatMap((dir) =>
      readdirSync(dir).filter(
        (name) =>
          name.endsWith('.test.ts') &&
          /\b(trials|clientTrials|tryInputs|fuzzBytes|keepInputs)\(/.test(read(dir, name)),
      ),
    )
    // Tests of the harness itself are not fault tests.
    const sections = trying.map((name) => name.replace(/\..*/, '')).filter((name) => name !== 'trials')
    expect(places.sort()).toEqual([...new Set(sections)].sort())
  })
})

describe('a stored row of the report on fault tests', () => {
  const row: Row = {
    ...{ section: 'clients', fault: 'SIGKILL | a pipe', jdk: '17.0.15' },
    ...{ tried: 1200, failed: 1, harmed: 0, wrong: 2, profilesDue: 5, profilesKept: 4, leftBehind: null },
    ms: { 'stood still': 1321 },
    figures: { throughput: { low: 98.44, median: 99.5, high: 101.25, unit: '%' } },
  }

  function kept(...runs: Row[][]): { rows: Kept[]; text: string } {
    const dir = temporaryDirectory()
    writeFileSync(
      join(dir, 'RESULTS.md'),
      '<!-- summary -->\n<!-- end -->\n\n## Clients\n\n<!-- rows: clients -->\nold\n<!-- end -->\n\nProse.\n',
    )
    for (const rows of runs) {
      const file = join(temporaryDirectory(), 'rows')
      writeFileSync(file, rows.map((it) => `${JSON.stringify(it)}\n`).join(''))
      report('--in', dir, file)
    }
    return { rows: rowsIn(dir), text: read(dir, 'RESULTS.md') }
  }

  it('a stored row of the fault report is in the table of its section, and is counted in the summary', () => {
    const { rows, text } = kept([row])
    const [{ commit }] = rows as [Kept]
    expect(text.split('\n').filter((line) => /^\| (SIGKILL|Clients)/.test(line))).toEqual([
      '| Clients | 1 | 1,200 | 1 | 0 | 2 | – | 0 |',
      `| SIGKILL \\| a pipe | 17.0.15 | 1,200 | 1 | 0 | 2 | 4 of 5 | – | stood still 1,321 ms, throughput 98.44, 99.5, 101.3 % | ${commit} |`,
    ])
    expect(text).not.toContain('old')
    expect(text.endsWith('<!-- end -->\n\nProse.\n')).toBe(true)
  })

  it('a new row of the fault report replaces only the row with the same fault and JDK', () => {
    const { rows } = kept([row, { ...row, jdk: '25.0.3' }], [{ ...row, tried: 7 }])
    expect(rows.map(({ jdk, tried }) => [jdk, tried])).toEqual([
      ['17.0.15', 7],
      ['25.0.3', 1200],
    ])
  })

  it('a row of the fault report is refused if the report has no such section', () => {
    expect(() => kept([{ ...row, section: 'nowhere' }])).toThrow(/no place in RESULTS.md for rows of nowhere/)
  })
})
