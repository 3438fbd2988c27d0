import { expect, it } from 'vitest'
import { jvmFor } from '../../src/commands/wait-for.ts'
import { checkOwnOptions } from '../../src/options/refusals.ts'

it.each([
  ['4711', { waitFor: 'x' }, "--wait-for cannot be combined with '4711': both name a JVM"],
  [undefined, { waitFor: 'ssh://shop7/x' }, 'and --wait-for works only on this machine'],
  [undefined, { waitFor: ' ' }, "cannot read main class ' ': it is empty"],
])('process id %s with the options %o is refused', async (pid, flags, message) => {
  await expect(jvmFor(pid, flags)).rejects.toThrow(message)
})

it('--wait-timeout without --wait-for is refused', () => {
  expect(() => checkOwnOptions('attach', { waitTimeout: 3000 })).toThrow('--wait-timeout needs --wait-for')
})

it('--wait-for with --jdwp is refused', () => {
  const flags = { root: ['A.b'], waitFor: 'x', jdwp: { host: '127.0.0.1', port: 5005 } }
  expect(() => checkOwnOptions('record', flags)).toThrow('--wait-for cannot be combined with --jdwp')
})
