// The command line as completion and the manual have it: arguments by the parser, options by their table.

import type { Argument, Command } from 'commander'
import { argumentOf, COMMANDS, longOf, type Row } from '../../options/option.ts'
import { optionsOf } from '../../options/table.ts'

/** What stands in a place, for a shell to offer. */
export type Kind = 'pid' | 'profile' | 'file' | 'jar' | 'command' | 'format' | 'other'

export interface OptionRow {
  /** `-r`, if it has one. */
  readonly short: string | undefined
  readonly long: string
  /** `<method>`; undefined where it takes no value. */
  readonly value: string | undefined
  readonly says: string
  readonly kind: Kind
  /** Values that it can have, if they are few. */
  readonly choices: readonly string[]
  readonly isRepeatable: boolean
  readonly isRequired: boolean
  readonly initially: string | undefined
}

export interface ArgumentRow {
  readonly name: string
  readonly says: string
  readonly kind: Kind
  readonly choices: readonly string[]
  readonly isVariadic: boolean
  readonly isRequired: boolean
}

export interface CommandRow {
  readonly name: string
  readonly says: string
  readonly arguments: readonly ArgumentRow[]
  readonly options: readonly OptionRow[]
}

export function commandRows(program: Command): CommandRow[] {
  return COMMANDS.map((name) => {
    const command = program.commands.find((it) => it.name() === name)!
    return {
      name,
      says: command.description(),
      arguments: command.registeredArguments.map(argumentRow),
      options: [
        ...optionsOf(name)
          .filter((it) => !it.isHidden)
          .map(optionRow),
        HELP,
      ],
    }
  })
}

const HELP: OptionRow = {
  short: '-h',
  long: '--help',
  value: undefined,
  says: 'what there is to choose, with examples',
  kind: 'other',
  choices: [],
  isRepeatable: false,
  isRequired: false,
  initially: undefined,
}

function argumentRow(argument: Argument): ArgumentRow {
  const name = argument.name()
  return {
    name,
    says: argument.description,
    kind: kindOfArgument(name),
    choices: argument.argChoices ?? [],
    isVariadic: argument.variadic,
    isRequired: argument.required,
  }
}

function kindOfArgument(name: string): Kind {
  if (name === 'pid') return 'pid'
  if (name === 'command') return 'command'
  return ['file', 'baseline', 'other', 'before', 'after'].includes(name) ? 'profile' : 'other'
}

function optionRow(row: Row): OptionRow {
  return {
    short: /^-\w/.exec(row.name)?.[0],
    long: longOf(row),
    value: argumentOf(row),
    says: row.isRepeatable ? `${row.help}; repeatable` : row.help,
    kind: row.offers ?? 'other',
    choices: row.value?.choices ?? [],
    isRepeatable: row.isRepeatable === true,
    isRequired: row.isRequired === true,
    initially: row.default?.toString(),
  }
}
