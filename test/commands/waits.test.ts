import { describe, expect, it } from 'vitest'
import { commandOptions } from '../../src/commands/options.ts'
import type { SessionFlags } from '../../src/options/table.ts'

const FLAGS: SessionFlags = { root: ['a.B.c'], scheme: 'b' }

describe('options that do not go together', () => {
  it.each([{ mode: 'bytecodes' }, { mode: 'count' }, { mode: 'sample', every: '9bc' }] as const)(
    '--waits and %j, which reads no clock',
    (flags) =>
      expect(commandOptions({ ...FLAGS, ...flags, waits: true })).rejects.toThrow(
        '--waits tells waiting from running',
      ),
  )

  it.each(['exact', 'locks'] as const)('--reproducible and --mode %s', (mode) =>
    expect(commandOptions({ ...FLAGS, mode, reproducible: true })).rejects.toThrow(
      'times differ from run to run',
    ),
  )

  it.each(['exact', 'locks'] as const)('but --waits and --mode %s do', async (mode) => {
    expect(await commandOptions({ ...FLAGS, mode, waits: true })).toMatchObject({ mode, waits: true })
  })
})
