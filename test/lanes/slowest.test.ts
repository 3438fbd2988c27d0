import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { temporaryDirectory } from '../support/java-process.ts'

it('lists the ten slowest files of all lanes, the slowest first', () => {
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
  expect(lines).toHaveLength(12) // with the title and the end
})
