// The faults of `npm run test:seeded` still fit the sources. That command, which takes half an hour, shows that tests find the faults.

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

interface SeededFault {
  readonly name: string
  readonly file: string
  readonly find: string
  readonly put: string
  readonly live?: readonly string[]
}

const root = join(import.meta.dirname, '../..')
const { SEEDED_FAULTS } = (await import(`${import.meta.dirname}/seeded-faults.mjs`)) as {
  SEEDED_FAULTS: readonly SeededFault[]
}

it('ten faults have unique names', () => {
  expect(new Set(SEEDED_FAULTS.map(({ name }) => name)).size).toBe(10)
})

describe.each(SEEDED_FAULTS)('$name', ({ file, find, put, live = [] }) => {
  it('the fault changes a text that occurs exactly once in the source', () => {
    expect(readFileSync(join(root, file), 'utf8').split(find)).toHaveLength(2)
    expect(put).not.toBe(find)
  })

  it('the fault names existing live files', () => {
    expect(live.filter((it) => !existsSync(join(root, it)))).toEqual([])
  })
})
