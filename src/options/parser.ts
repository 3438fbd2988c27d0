// Builds the commander options from the option table: names, values, defaults and help groups.

import { type Command, InvalidArgumentError, Option } from 'commander'
import { argumentOf, attributeOf, type CommandName, defaultOf, helpOf, type Row } from './option.ts'
import { removedFrom, withRemovedOptions } from './removed.ts'
import { optionsOf } from './table.ts'

/** Text of option values as the user typed it, keyed by command and property name. */
const typed = new WeakMap<Command, Map<string, string[]>>()

/** Adds all options of a command to the parser. */
export function withOptions(command: Command, name: CommandName): Command {
  const texts = new Map<string, string[]>()
  typed.set(command, texts)
  const rows = optionsOf(name)
  withRemovedOptions(command, removedFrom(name))
  for (const row of rows) command.addOption(parsed(row, texts))
  return command
}

/** Returns the values of an option as the user typed them; empty for a flag. */
export function typedText(command: Command, row: Row): readonly string[] {
  return typed.get(command)?.get(attributeOf(row)) ?? []
}

function parsed(row: Row, texts: Map<string, string[]>): Option {
  const [text, standard] = [helpOf(row), defaultOf(row)]
  // The library commander shows a default only if commander itself sets the default.
  const isShown = row.default !== undefined || standard === undefined
  const option = new Option(row.name, isShown ? text : `${text} (default: ${standard})`)
  option.helpGroup(`${row.group}:`)
  if (row.isHidden) option.hideHelp()
  if (row.isRequired) option.makeOptionMandatory()
  option.default(row.default, standard)
  if (argumentOf(row) === undefined) return option
  if (row.value?.isExact) option.choices([...row.value.choices!])
  const { parseArg } = option
  return option.argParser((text: string, before: unknown) => {
    const attribute = attributeOf(row)
    texts.set(attribute, row.isRepeatable ? [...(texts.get(attribute) ?? []), text] : [text])
    if (parseArg !== undefined) return parseArg(text, before)
    const value = read(row, text)
    return row.isRepeatable ? [...((before as readonly unknown[] | undefined) ?? []), value] : value
  })
}

/** @throws InvalidArgumentError */
export function read(row: Row, text: string): unknown {
  const { value } = row
  if (value === undefined) return text
  const found = value.parse(text)
  if (found === undefined) throw new InvalidArgumentError(value.is)
  return found
}
