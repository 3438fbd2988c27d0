// A profile of a million contexts is exported, reported and opened with a heap of 256 MiB.

import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { temporaryDirectory } from '../support/java-process.ts'
import { MILLION, openShowsTheLastRow, reports, runBounded, writeLarge } from './large-file.ts'

describe.each([
  ['a profile of call chains 100,000 long', 10],
  ['a profile of nodes with 100,000 children', 100_000],
] as const)('the commands export, report and open with %s', { timeout: 120_000 }, (_, wide) => {
  let file: string
  beforeAll(() => {
    file = writeLarge(wide, MILLION)
  })

  it.each([['json', '"calls":999999,', 1]] as const)(
    'a profile of a million contexts can be exported as %s',
    async (format, line, least) => {
      const out = join(temporaryDirectory(), 'out')
      await runBounded(MILLION, 'export', file, '--format', format, '--out', out)
      // The export is complete: it contains the calls of the last context.
      const found = execFileSync('grep', ['-o', line, out], { encoding: 'utf8' })
      expect(found.trim().split('\n').length).toBeGreaterThanOrEqual(least)
    },
  )

  it('a profile of a million contexts can be reported', () => reports(file, MILLION))

  it('open can show the last row of a profile with a million rows', () => openShowsTheLastRow(file, MILLION))
})
