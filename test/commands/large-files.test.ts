// A profile of 300,000 contexts in chains 100,000 deep is reported and opened with a heap of 96 MiB. Tests with a million contexts, and
// exports, are in large-files.full.test.ts.

import { beforeAll, it } from 'vitest'
import { openShowsTheLastRow, reports, type Size, writeLarge } from './large-file.ts'

const SIZE: Size = { contexts: 300_000, heapMib: 96 }

let file: string
beforeAll(() => {
  file = writeLarge(3, SIZE)
})

it('a profile with call chains 100,000 deep can be reported', () => reports(file, SIZE))

it('open can show the last row of a profile with 300,000 rows', () => openShowsTheLastRow(file, SIZE))
