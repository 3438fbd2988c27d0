// Creates RESULTS.md from rows.jsonl, which has one row for each fault and JDK, and from prose in RESULTS.md that is written manually:
//
//   node test/faults/report.mjs [file …]          stores the rows of these files with the current commit, and writes RESULTS.md
//   node test/faults/report.mjs --print           prints the expected RESULTS.md
//     --in dir                                    directory of both files; default: this directory
//
// A new row replaces the old row of the same section (test file), fault and JDK. A table is inserted between "<!-- rows: section … -->" and
// "<!-- end -->", and the table of all sections between "<!-- summary -->" and "<!-- end -->".

import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

const ROWS = 'rows.jsonl'
const REPORT = 'RESULTS.md'

const order = new Intl.Collator('en', { numeric: true })

export function readRows(file) {
  if (!existsSync(file)) return []
  const lines = readFileSync(file, 'utf8').split('\n')
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line))
}

const keyOf = ({ section, fault, jdk }) => [section, fault, jdk].join('\n')

/** Returns the old rows and the new rows. A new row replaces the old row of the same section, fault and JDK. */
export function merged(rows, more) {
  const all = new Map([...rows, ...more].map((row) => [keyOf(row), row]))
  return [...all.keys()].sort(order.compare).map((key) => all.get(key))
}

/** Returns the current commit, followed by + if other files than these two have uncommitted changes. */
function commit() {
  const git = (...args) => execFileSync('git', args, { cwd: import.meta.dirname, encoding: 'utf8' }).trim()
  const changed = git('status', '--porcelain', '--', ':/', `:!${ROWS}`, `:!${REPORT}`)
  return git('rev-parse', '--short', 'HEAD') + (changed === '' ? '' : '+')
}

const plain = (number) =>
  number.toLocaleString('en', Number.isInteger(number) ? {} : { maximumSignificantDigits: 4 })
const count = (number) => (number === null ? '–' : number.toLocaleString('en'))
const cells = (row) => `| ${row.map((cell) => String(cell).replaceAll('|', '\\|')).join(' | ')} |`

/** Returns the minimum, median and maximum of the values; one number if all are equal. */
function figure([name, { low, median, high, unit }]) {
  const values = low === high ? plain(low) : `${plain(low)}, ${plain(median)}, ${plain(high)}`
  return `${name} ${values} ${unit}`.trim()
}

function line({ ms, figures, ...row }) {
  const longest = Object.entries(ms).map(([name, value]) => `${name} ${count(value)} ms`)
  return cells([
    ...[row.fault, row.jdk, count(row.tried), count(row.failed), count(row.harmed), count(row.wrong)],
    row.profilesDue === 0 ? '–' : `${count(row.profilesKept)} of ${count(row.profilesDue)}`,
    count(row.leftBehind),
    [...longest, ...Object.entries(figures).map(figure)].join(', '),
    row.commit,
  ])
}

export function table(rows) {
  if (rows.length === 0) return '*Not tried since it was last changed.*'
  const head =
    '| fault | JDK | tried | failed | target harmed | client or profile wrong | profiles kept | left behind | longest, other numbers | of |'
  return [head, '| --- | --- | --: | --: | --: | --: | --: | --: | --- | --- |', ...rows.map(line)].join('\n')
}

/** Returns the sum over the rows that have this number, or null. */
function sum(rows, name) {
  const known = rows.map((row) => row[name]).filter((value) => value !== null)
  return known.length === 0 ? null : known.reduce((all, value) => all + value, 0)
}

export function summary(groups) {
  const of = (name, rows) =>
    cells([
      ...[name, count(rows.length), count(sum(rows, 'tried')), count(sum(rows, 'failed'))],
      ...[count(sum(rows, 'harmed')), count(sum(rows, 'wrong')), count(sum(rows, 'leftBehind'))],
      count(rows.filter(({ tried }) => tried === 1).length),
    ])
  const all = groups.flatMap(({ rows }) => rows)
  const versions = [...new Set(all.map((row) => row.commit))].sort().map((name) => {
    const rows = all.filter((row) => row.commit === name)
    const dates = [...new Set(rows.map(({ date }) => date))].sort()
    return `${rows.length} of \`${name}\` (${dates.join(', ')})`
  })
  return [
    '| section | rows | tries | failed | target harmed | client or profile wrong | left behind | rows of one try |',
    '| --- | --: | --: | --: | --: | --: | --: | --: |',
    ...groups.map(({ title, rows }) => of(title, rows)),
    // Rows without a target are left out of this line: they have millions of inputs and are not comparable.
    of(
      '**all trials of a target**',
      all.filter(({ harmed }) => harmed !== null),
    ),
    '',
    `Rows: ${versions.length === 0 ? 'none' : versions.join('; ')}.`,
  ].join('\n')
}

const RANGE = /<!-- (rows: [^>]+|summary) -->\n[\s\S]*?<!-- end -->/g

/** Returns the report with the tables of these rows. The report must have a place for each row. */
export function written(report, rows) {
  const groups = [...report.matchAll(RANGE)]
    .filter(([, what]) => what !== 'summary')
    .map(({ 1: what, index }) => {
      const sections = what.replace('rows: ', '').split(' ')
      return {
        title:
          report
            .slice(0, index)
            .match(/^## .*$/gm)
            ?.at(-1)
            .slice(3) ?? '',
        sections,
        rows: sections.flatMap((section) => rows.filter((row) => row.section === section)),
      }
    })
  const placed = new Set(groups.flatMap(({ sections }) => sections))
  const lost = rows.filter(({ section }) => !placed.has(section))
  if (lost.length > 0)
    throw new Error(`no place in ${REPORT} for rows of ${lost.map((it) => it.section).join(', ')}`)
  let nth = 0
  return report.replace(RANGE, (_, what) => {
    const text = what === 'summary' ? summary(groups) : table(groups[nth++].rows)
    return `<!-- ${what} -->\n${text}\n<!-- end -->`
  })
}

/** Stores new rows, and writes the report. */
export function keep(files, dir = import.meta.dirname) {
  const of = { commit: commit(), date: new Date().toISOString().slice(0, 10) }
  const more = files.flatMap(readRows).map((row) => ({ ...row, ...of }))
  const rows = merged(readRows(join(dir, ROWS)), more)
  const report = written(readFileSync(join(dir, REPORT), 'utf8'), rows)
  writeFileSync(join(dir, ROWS), rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
  writeFileSync(join(dir, REPORT), report)
  return more
}

if (process.argv[1] === import.meta.filename) {
  const { values, positionals } = parseArgs({
    options: { print: { type: 'boolean' }, in: { type: 'string', default: import.meta.dirname } },
    allowPositionals: true,
  })
  if (values.print) {
    const rows = readRows(join(values.in, ROWS))
    process.stdout.write(written(readFileSync(join(values.in, REPORT), 'utf8'), rows))
  } else {
    keep(positionals, values.in)
  }
}
