// Commands run in the process of the tests print the same output as the real command. Actions that need a process of their own are refused.

import { join } from 'node:path'
import { expect, it } from 'vitest'
import { writeProfile } from '../../src/profile/file.ts'
import { profileOf } from '../profile/trees.ts'
import { inProcess, inProcessIn } from './in-process.ts'
import { temporaryDirectory } from './java-process.ts'
import { jfluid } from './jfluid.ts'

const directory = temporaryDirectory()

it.each([
  ['a report', ['report', join(directory, 'p.jfluid')]],
  ['an error of jfluid', ['report', join(directory, 'none.jfluid')]],
  ['an error of the command line', ['report', '--top', 'many', 'p.jfluid']],
  ['no command', []],
  [
    'a command that leaves listeners behind',
    ['run', '--root', 'A.b', '--', join(directory, 'no-such-program')],
  ],
])('the command %s prints the same text in the test process as in a process of its own', async (_, args) => {
  await writeProfile(profileOf('main 1x 5ns'), join(directory, 'p.jfluid'))
  const listeners = process.listenerCount('SIGINT')
  const ran = await inProcess(...args)
  expect(ran).toEqual(await jfluid(...args))
  expect(process.listenerCount('SIGINT')).toBe(listeners)
})

it('a command in the test process can run in another directory and with another environment', async () => {
  await writeProfile(profileOf('main 1x 5ns'), join(directory, 'q.jfluid'))
  const before = [process.cwd(), process.env.NO_COLOR, process.stdout]
  const ran = await inProcessIn({ cwd: directory, env: { FORCE_COLOR: '1' } }, 'report', 'q.jfluid')
  expect(ran.code).toBe(0)
  expect(ran.stdout).toContain('\x1b[')
  expect([process.cwd(), process.env.FORCE_COLOR, process.stdout]).toEqual(before)
})

it('a command in the test process is refused if its output cannot be captured', async () => {
  const file = join(directory, 'r.jfluid')
  await writeProfile(profileOf('main 1x 5ns'), file)
  await expect(inProcess('export', file, '--format', 'csv')).rejects.toThrow(
    /csv needs a process of its own, for the descriptor of stdout$/,
  )
})

it('a second command in the test process is refused while the first command runs', async () => {
  const first = inProcess('man')
  await expect(inProcess('man')).rejects.toThrow('two commands at a time')
  expect((await first).code).toBe(0)
})
