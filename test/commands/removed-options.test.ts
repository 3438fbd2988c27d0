// A removed option is refused by name with its replacement, before jfluid accesses a JVM.

import { Command, Option } from 'commander'
import { describe, expect, it } from 'vitest'
import { EX_USAGE } from '../../src/base/errors.ts'
import { commandLine } from '../../src/commands/program.ts'
import { shownCommands, shownOptions } from '../../src/commands/shell/command-line.ts'
import { attach } from '../../src/library/attachment.ts'
import { COMMANDS as COMMANDS_NAMED, longOf } from '../../src/options/option.ts'
import { withOptions } from '../../src/options/parser.ts'
import {
  checkRemovedOptions,
  OptionRemoved,
  REMOVED_OPTIONS,
  type RemovedOption,
  removedFrom,
  withRemovedOptions,
} from '../../src/options/removed.ts'
import { inProcess } from '../support/in-process.ts'

/** A process id that cannot exist (PID_MAX_LIMIT is 2^22). */
const NOBODY = '2147483646'

/** Further arguments required by each command. */
const COMMANDS: readonly (readonly [name: string, ...rest: string[]])[] = [
  ['attach', NOBODY],
  ['attach', 'ssh://host/4711'],
  ['record', NOBODY],
  ['record', '--jdwp', '127.0.0.1:5005'],
  ['run', '--', 'java', 'Main'],
]

/** Options that were removed with all their values. */
const OPTIONS = REMOVED_OPTIONS.filter(({ value }) => value === undefined).map(({ option }) => option)

const refused = async (...words: string[]): Promise<unknown> =>
  await commandLine('1.2.3')
    .parseAsync(words, { from: 'user' })
    .catch((error: unknown) => error)

describe.each(COMMANDS)('removed options of jfluid %s %s', (name, ...rest) => {
  const rows = removedFrom(COMMANDS_NAMED.find((it) => it === name)!)
  it.each(rows)('removed option $option $value is refused with an explanation', async (row) => {
    const { option, value } = row
    const ways =
      value === undefined
        ? [[option], [option, '8'], [`${option}=8`]]
        : [[option, value], [`${option}=${value}`]]
    for (const words of ways) {
      const error = await refused(name, '--root', 'a.B.c', ...words, ...rest)
      expect(error, words.join(' ')).toEqual(new OptionRemoved(row))
      expect(error).toMatchObject({ exitCode: EX_USAGE, hint: row.instead })
    }
  })
})

it('the error for a removed option states what was removed, why, and what to do', async () => {
  const { code, stdout, stderr } = await inProcess('attach', '1', '--error-bars')
  expect([code, stdout]).toEqual([EX_USAGE, ''])
  expect(stderr).toMatch(/^jfluid: --error-bars was removed: .+[^.]\n {2}Leave the option out: .+\.\n$/)
})

it('every removed option has a reason and an alternative', () => {
  for (const { option, why, instead } of REMOVED_OPTIONS) {
    expect(option).toMatch(/^--[a-z-]+$/)
    expect(why).toMatch(/^[a-z].*[^.]$/)
    expect(instead).toMatch(/^[A-Z].*\.$/)
  }
})

it('help and shell completion omit removed options', () => {
  const program = commandLine('1.2.3')
  for (const command of shownCommands(program))
    expect(shownOptions(command).filter((it) => OPTIONS.includes(longOf(it)))).toEqual([])
  for (const command of program.commands)
    for (const option of OPTIONS)
      expect(command.helpInformation()).not.toMatch(new RegExp(`${option}(?![a-z-])`))
})

it('a removed option after -- is passed on to the started program', () => {
  const run = commandLine('1.2.3').commands.find((it) => it.name() === 'run')!
  const program = ['java', '-jar', 'app.jar', '--proof']
  expect(run.parseOptions(['--root', 'a.B.c', '--', ...program]).operands).toEqual(program)
  expect(() => run.parseOptions(['--proof', '--', ...program])).toThrow(OptionRemoved)
})

it('a command that never had the removed option reports the option as unknown', async () => {
  for (const name of ['ps', 'report', 'doctor']) {
    const { code, stderr } = await inProcess(name, '--proof')
    expect([code, stderr]).toEqual([EX_USAGE, expect.stringContaining("unknown option '--proof'")])
  }
})

const SAMPLER: RemovedOption = {
  ...{ option: '--sampler', value: 'stacks', why: 'it is slow', instead: 'Take jfr.' },
}

it('a single value of an existing option can be marked as removed', () => {
  const parse = (value: string) =>
    withRemovedOptions(new Command(), [SAMPLER])
      .addOption(new Option('--sampler <name>').choices(['jfr', 'cpu']))
      .exitOverride()
      .configureOutput({ writeErr: () => {} })
      .parse(['--sampler', value], { from: 'user' })
      .opts()
  expect(parse('cpu')).toEqual({ sampler: 'cpu' })
  expect(() => parse('stacks')).toThrow(new OptionRemoved(SAMPLER))
  expect(() => parse('stack')).toThrow(/Allowed choices are jfr, cpu/)
  expect(new OptionRemoved(SAMPLER).message).toBe('--sampler stacks was removed: it is slow')
})

it('the library refuses a removed option with the same message as the command line', async () => {
  const given = { root: 'a.B.c', ...JSON.parse('{"errorBars":true}') }
  await expect(attach(Number(NOBODY), given)).rejects.toThrow(/^--error-bars was removed/)
  expect(() => checkRemovedOptions({ sampler: 'jfr' }, [SAMPLER])).not.toThrow()
  expect(() => checkRemovedOptions({ sampler: 'stacks' }, [SAMPLER])).toThrow(OptionRemoved)
})

it('options with values that were not removed are accepted', () => {
  const command = withOptions(new Command(), 'session').exitOverride()
  expect(command.parse(['--root', 'a.B.c'], { from: 'user' }).opts()).toEqual({
    ...{ root: ['a.B.c'], mode: 'exact', scheme: 'auto' },
  })
})
