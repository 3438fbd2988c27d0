// Tests that need more than a JDK are skipped if the requirement is missing. On a machine that runs test:full no requirement may be
// missing.

import { expect, it } from 'vitest'
import { TARGETS } from '../jdks/table-text.mjs'
import { cannotContain, PIDS } from './contained.ts'
import { freezers } from './freezer.ts'
import { targets } from './jdks.ts'

it('the machine runs the tests as root', () => expect(process.geteuid?.()).toBe(0))

it('the machine can create containers, with and without a user namespace', () => {
  expect(cannotContain('--mount', ...PIDS)).toBe('')
  expect(cannotContain('--user', '--map-root-user', '--mount', ...PIDS)).toBe('')
})

it('the machine has control groups that can be frozen', () => expect(freezers()).not.toEqual([]))

it('each JDK that jfluid supports as a target is there (npm run jdks)', () => {
  expect(targets.map(({ version }) => version)).toEqual(expect.arrayContaining(TARGETS))
})
