// What doctor says in the end: nothing, what the program would notice, or that an attach would fail.

import { expect, it } from 'vitest'
import { verdict } from '../../src/commands/doctor.ts'
import type { Finding } from '../../src/session/doors/doctor.ts'

const finding = (check: Finding['check'], level: Finding['level']): Finding => ({ check, level, text: '' })

it.each<[Finding[], number, boolean, string]>([
  [[finding('jdk', 'ok')], 0, false, 'OK: nothing known forbids jfluid attach 7'],
  // It costs the program nothing.
  [[finding('other agents', 'note')], 0, false, 'OK: nothing known forbids jfluid attach 7'],
  [
    [finding('classes', 'note'), finding('processors', 'note')],
    0,
    false,
    'OK, but the program would notice jfluid attach 7: see classes, processors',
  ],
  [
    [finding('classes', 'note'), finding('attach', 'problem')],
    77,
    true,
    'do not: 1 problem; the agent was not loaded, and the root not looked at; an attach would end with exit code 77',
  ],
])('%j', (findings, status, isUnasked, said) => {
  expect(verdict('7', findings, status, isUnasked)).toBe(`\n${said}\n`)
})
