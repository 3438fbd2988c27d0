// The command line as a table: what completion and the manual are made from. Read off the parser, so that it says what it does.

import type { Argument, Command, Option } from 'commander'

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

/** Values of options whose parser tells them in words; a test gives each to the parser. */
const FEW: { readonly [option: string]: readonly string[] } = {
  '--scheme': ['a', 'b'],
  '--bba': ['default', 'precise'],
}

export function commandRows(program: Command): CommandRow[] {
  return program.commands
    .filter((it) => it.name() !== 'help' && !it.name().startsWith('__'))
    .map((it) => ({
      name: it.name(),
      says: it.description(),
      arguments: it.registeredArguments.map(argumentRow),
      options: [...it.options.filter(({ hidden }) => !hidden).map(optionRow), HELP],
    }))
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

function optionRow(option: Option): OptionRow {
  const value = /[<[].*$/.exec(option.flags)?.[0]
  return {
    short: option.short,
    long: option.long ?? option.flags,
    value,
    says: option.description,
    kind: kindOfOption(option.long, value),
    choices: option.argChoices ?? FEW[option.long ?? ''] ?? [],
    isRepeatable: option.description.endsWith('repeatable'),
    isRequired: option.mandatory,
    initially: typeof option.defaultValue === 'boolean' ? undefined : textOf(option.defaultValue),
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'number' ? `${value}` : undefined
}

function kindOfOption(long: string | undefined, value: string | undefined): Kind {
  if (value === undefined) return 'other'
  if (long === '--format') return 'format'
  if (/\bjar\b/.test(value)) return 'jar'
  return /\b(?:file|directory)\b/.test(value) ? 'file' : 'other'
}
