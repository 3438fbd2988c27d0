// 300,000 contexts in chains 100,000 long are reported and looked at in 96 MiB of heap. A million, and exports, are in
// large-files.full.test.ts.

import { beforeAll, it } from 'vitest'
import { openShowsTheLastRow, reports, type Size, writeLarge } from './large-file.ts'

const SIZE: Size = { contexts: 300_000, heapMib: 96 }

let file: string
beforeAll(() => {
  file = writeLarge(3, SIZE)
})

it('a profile with call chains 100,000 deep can be reported', () => reports(file, SIZE))

it('open shows the last of 300,000 rows', () => openShowsTheLastRow(file, SIZE))
