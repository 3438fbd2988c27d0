import { expect, it } from 'vitest'
import { jvmFor } from '../../src/commands/wait-for.ts'
import { checkOwnOptions } from '../../src/options/refusals.ts'

it.each([
  ['4711', { waitFor: 'x' }, "--wait-for says which JVM is meant, and so does '4711'"],
  [undefined, { waitFor: 'ssh://shop7/x' }, 'and --wait-for is for those of this one'],
  [undefined, { waitFor: ' ' }, "cannot read main class ' ': it is empty"],
  [undefined, { waitFor: 'x', waitTimeout: 'soon' }, "'soon' is not a duration"],
])('%s with %o is refused', async (pid, flags, message) => {
  await expect(jvmFor(pid, flags)).rejects.toThrow(message)
})

it('nor is a time without it', () => {
  expect(() => checkOwnOptions('attach', { waitTimeout: '3s' })).toThrow(
    '--wait-timeout says how long --wait-for waits',
  )
})

it('nor is it with the port of a debugger', () => {
  const flags = { waitFor: 'x', jdwp: { host: '127.0.0.1', port: 5005 } }
  expect(() => checkOwnOptions('record', flags)).toThrow("and so does '--jdwp'")
})
