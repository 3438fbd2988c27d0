// Tests that need more than a JDK are skipped if the requirement is missing. On a machine that runs test:full no requirement may be missing.

import { expect, it } from 'vitest'
import { cannotContain, PIDS } from './contained.ts'
import { freezers } from './freezer.ts'
import { jdks } from './jdks.ts'

it('the machine runs the tests as root', () => expect(process.geteuid?.()).toBe(0))

it('the machine can create containers, with and without a user namespace', () => {
  expect(cannotContain('--mount', ...PIDS)).toBe('')
  expect(cannotContain('--user', '--map-root-user', '--mount', ...PIDS)).toBe('')
})

it('the machine has control groups that can be frozen', () => expect(freezers()).not.toEqual([]))

it('the machine has a JDK with security managers and a JDK with virtual threads', () => {
  const versions = jdks.map(({ version }) => version)
  expect(Math.min(...versions)).toBeLessThan(24)
  expect(Math.max(...versions)).toBeGreaterThanOrEqual(21)
})
