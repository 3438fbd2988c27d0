// On other systems than Linux, commands that need a local JVM report this in one line, and other commands work.

import { afterEach, expect, it } from 'vitest'
import { EX_UNAVAILABLE, EX_USAGE } from '../../src/base/errors.ts'
import { BigEndian, checkPlatform } from '../../src/commands/platform.ts'
import { inProcess } from '../support/in-process.ts'

const { platform } = process
afterEach(() => {
  Object.defineProperty(process, 'platform', { value: platform })
})

function onPlatform(value: NodeJS.Platform): void {
  Object.defineProperty(process, 'platform', { value })
}

it.each([
  ['darwin', 'macOS'],
  ['win32', 'Windows'],
  ['freebsd', 'freebsd'],
] as const)('on %s, commands that need a local JVM report that Linux is required', async (value, name) => {
  onPlatform(value)
  for (const args of [['ps'], ['attach', '1', '--root', 'A.b'], ['doctor', '1'], ['proxy', '--stdio']]) {
    const { code, stdout, stderr } = await inProcess(...args)
    expect([code, stdout]).toEqual([EX_UNAVAILABLE, ''])
    expect(stderr).toMatch(
      new RegExp(
        `^jfluid: jfluid can attach only to JVMs on Linux, and this machine runs ${name}\\n {2}Run jfluid .+\\n$`,
      ),
    )
  }
  expect((await inProcess('--help')).code).toBe(0)
  expect((await inProcess('report', 'no-such.jfluid')).stderr).toContain('no-such.jfluid')
  // JVMs on other machines can be reached from this system.
  const remote = await inProcess('record', 'ssh://host/4711', '--root', 'A.b')
  expect(remote).toMatchObject({
    code: EX_USAGE,
    stderr: expect.stringContaining('neither --out nor --push'),
  })
})

it('on a big-endian machine, commands that need a local JVM are refused, and reports are not', () => {
  expect(() => checkPlatform('record', '4711', 'linux', 'BE')).toThrow(BigEndian)
  expect(() => checkPlatform('report', undefined, 'linux', 'BE')).not.toThrow()
  expect(() => checkPlatform('record', '4711', 'linux', 'LE')).not.toThrow()
})
