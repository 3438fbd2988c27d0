import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { expect, it } from 'vitest'
import { temporaryDirectory } from '../support/java-process.ts'

it('the ten slowest test files of all lanes are listed, slowest first', () => {
  const rows = Array.from({ length: 12 }, (_, i) => ({
    ...{ lane: i % 2 === 0 ? 'unit' : 'live', file: `test/f${i}.test.ts`, seconds: 10 * i },
  }))
  const file = join(temporaryDirectory(), 'rows')
  writeFileSync(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
  const lines = execFileSync(process.execPath, [join(import.meta.dirname, 'slowest.mjs'), file], {
    encoding: 'utf8',
  }).split('\n')
  expect(lines.slice(0, 3)).toEqual([
    'the slowest of 12 test files:',
    '   110.0 s  live   test/f11.test.ts',
    '   100.0 s  unit   test/f10.test.ts',
  ])
  expect(lines).toHaveLength(12) // including the title and the end
})

it('.ci/run exits with the status of the failed lane, and lists only test files of its own run', () => {
  const folder = temporaryDirectory()
  const row = (file: string) => JSON.stringify({ lane: 'unit', file, seconds: 1 })
  const run = (npm: string, rows: string) => {
    writeFileSync(join(folder, 'npm'), `#!/bin/sh\n${npm}\n`, { mode: 0o755 })
    const PATH = `${folder}${delimiter}${process.env.PATH}`
    return spawnSync(join(import.meta.dirname, '../../.ci/run'), {
      encoding: 'utf8',
      env: { ...process.env, PATH, JFLUID_SECONDS: rows },
    })
  }

  const early = run('exit 3', join(folder, 'missing'))
  expect([early.status, early.stdout, early.stderr]).toEqual([3, 'the slowest of 0 test files:\n', ''])

  const rows = join(folder, 'rows')
  writeFileSync(rows, `${row('before.test.ts')}\n`)
  const late = run(`echo '${row('now.test.ts')}' >> "$JFLUID_SECONDS"; exit 4`, rows)
  expect([late.status, late.stdout]).toEqual([
    4,
    'the slowest of 1 test files:\n     1.0 s  unit   now.test.ts\n',
  ])
  expect(readFileSync(rows, 'utf8')).toBe(`${row('before.test.ts')}\n${row('now.test.ts')}\n`)
})
