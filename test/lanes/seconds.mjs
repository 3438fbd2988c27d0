// node test/lanes/seconds.mjs <rows> …: writes test/lanes/SECONDS.md from the rows that JFLUID_SECONDS has collected (reporter.ts).

import { readFileSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { fileURLToPath } from 'node:url'

const rows = process.argv
  .slice(2)
  .flatMap((file) => readFileSync(file, 'utf8').trim().split('\n'))
  .map((line) => JSON.parse(line))
  .sort((a, b) => b.seconds - a.seconds)
const lanes = [...new Set(rows.map(({ lane }) => lane))]
const sum = (of, key) => of.reduce((all, row) => all + row[key], 0)
const text = [
  '# Seconds of the test files',
  '',
  `Imports, hooks and tests of each file, on ${cpus().length} processors, Node ${process.versions.node}. Unit and live files ran two at a time, so a lane takes`,
  'half of its sum. Made by `JFLUID_SECONDS=<file> .ci/run` and `node test/lanes/seconds.mjs <file>`.',
  '',
  '| lane | files | tests | skipped | seconds of all files |',
  '| --- | --: | --: | --: | --: |',
  ...lanes.map((lane) => {
    const of = rows.filter((row) => row.lane === lane)
    return `| ${lane} | ${of.length} | ${sum(of, 'passed') + sum(of, 'failed')} | ${sum(of, 'skipped')} | ${sum(of, 'seconds').toFixed(0)} |`
  }),
  ...lanes.flatMap((lane) => [
    '',
    `## ${lane}`,
    '',
    '| seconds | file |',
    '| --: | --- |',
    ...rows
      .filter((row) => row.lane === lane)
      .map(({ seconds, file }) => `| ${seconds.toFixed(1)} | ${file} |`),
  ]),
]
writeFileSync(fileURLToPath(new URL('SECONDS.md', import.meta.url)), `${text.join('\n')}\n`)
