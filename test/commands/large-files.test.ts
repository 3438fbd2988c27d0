// A million contexts are reported and looked at in 256 MiB of heap. Exports, and a root with 100,000 callees, are in
// large-files.full.test.ts.

import { beforeAll, it } from 'vitest'
import { openShowsTheLastRow, reports, writeLarge } from './large-file.ts'

let file: string
beforeAll(() => {
  file = writeLarge(10)
})

it('report, of chains 100,000 long', () => reports(file))

it('open shows the last of a million rows', () => openShowsTheLastRow(file))
