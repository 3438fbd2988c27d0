// The last line of doctor: empty, a list of effects on the program, or the problem that prevents an attach.

import { expect, it } from 'vitest'
import { verdict } from '../../src/commands/doctor.ts'
import type { Finding } from '../../src/session/doors/doctor.ts'

const finding = (check: Finding['check'], level: Finding['level']): Finding => ({ check, level, text: '' })

it.each<[Finding[], number, boolean, string]>([
  [[finding('jdk', 'ok')], 0, false, 'OK to attach: no obstacle found for jfluid attach 7'],
  // This note has no effect on the program.
  [[finding('other agents', 'note')], 0, false, 'OK to attach: no obstacle found for jfluid attach 7'],
  [
    [finding('classes', 'note'), finding('processors', 'note')],
    0,
    false,
    'OK to attach, but jfluid attach 7 would affect the program: see classes, processors',
  ],
  [
    [finding('classes', 'note'), finding('attach', 'problem')],
    77,
    true,
    'do not attach: 1 problem; the root was not checked; jfluid attach would end with exit code 77',
  ],
])('doctor prints the right verdict for the findings %j', (findings, status, isUnasked, said) => {
  expect(verdict('7', findings, status, isUnasked)).toBe(`\n${said}\n`)
})
