import { expect, it } from 'vitest'
import { commandOptions } from '../../src/commands/options.ts'

it.each(['exact', 'locks'] as const)('--reproducible cannot be combined with --mode %s', (mode) =>
  expect(commandOptions({ root: ['a.B.c'], scheme: 'b', mode, reproducible: true })).rejects.toThrow(
    'times differ from run to run',
  ),
)
