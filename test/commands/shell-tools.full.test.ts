// Completion scripts in real shells, and the manual page in groff. Needs zsh, fish and groff.

import { spawnSync } from 'node:child_process'
import { expect, it } from 'vitest'
import { jfluid } from '../support/jfluid.ts'
import { inBash, inFish, inZsh } from './shells.ts'

it('bash completes commands, values and files', async () => {
  const { stdout: script } = await jfluid('completion', 'bash')
  expect(inBash(script, 'rec')).toEqual(['record'])
  expect(inBash(script, 'record', '1', '--mode', 'b')).toEqual(['bytecodes'])
  expect(inBash(script, 'record', '1', '--out', 'p.').sort()).toEqual(['p.jfluid', 'p.json'])
})

it('zsh completes commands, values and files', () => {
  expect(inZsh('rec')).toMatch(/^record:profile/)
  expect(inZsh('report', '')).toBe('files -g *.jfluid\n')
  expect(inZsh('record', '1', '--mode', 'b')).toBe('bytecodes:\n')
})

it('fish completes commands, values and files', () => {
  expect(inFish('jfluid rec')).toMatch(/^record\tprofile/)
  expect(inFish('jfluid record 1 --mode b')).toMatch(/^bytecodes/)
  expect(inFish('jfluid report p')).toMatch(/^p\.jfluid/)
})

it('groff renders the manual page without warnings', async () => {
  const { stdout: input } = await jfluid('man')
  const { stdout, stderr, status } = spawnSync('groff', ['-man', '-ww', '-Tutf8'], {
    input,
    encoding: 'utf8',
  })
  expect([status, stderr]).toEqual([0, ''])
  expect(stdout).toContain('jfluid')
})
