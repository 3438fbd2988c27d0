import { expect, it } from 'vitest'
import { changesMarkdown } from '../../src/export/compare-markdown.ts'
import { changesOf } from '../../src/profile/changes.ts'
import { profileOf } from '../profile/trees.ts'

it('a comparison as Markdown has a table of the changed methods, with names in code spans', () => {
  const before = { path: 'old.jfluid', profile: profileOf('main 2x 200000ns ( work 4x 400000ns )') }
  const after = { path: 'new|1.jfluid', profile: profileOf('main 2x 200000ns ( work 8x 900000ns )') }
  const changes = changesOf(before.profile, after.profile)
  const text = [...changesMarkdown(before, after, changes, [], 20)].join('')
  expect(text).toMatch(/^### jfluid compare of `com\.acme\.Main`\n/)
  // Per root call: 200 µs before, 450 µs after; 2 calls before, 4 after.
  expect(text).toMatch(
    /^\| \+250\S* \S+ \| 200\S* \S+ \| 450\S* \S+ \| 2, now 4 \| `com\.acme\.App\.work` \|$/m,
  )
  expect(text).toContain('new\\|1.jfluid')
})
