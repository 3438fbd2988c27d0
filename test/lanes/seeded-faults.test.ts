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

it('the ten seeded faults (deliberate errors in the source) have unique names', () => {
  expect(new Set(SEEDED_FAULTS.map(({ name }) => name)).size).toBe(10)
})

describe.each(SEEDED_FAULTS)('seeded fault: $name', ({ file, find, put, live = [] }) => {
  it('a seeded fault changes a text that occurs exactly once in its source file', () => {
    expect(readFileSync(join(root, file), 'utf8').split(find)).toHaveLength(2)
    expect(put).not.toBe(find)
  })

  it('the live test files that a seeded fault names exist', () => {
    expect(live.filter((it) => !existsSync(join(root, it)))).toEqual([])
  })
})
