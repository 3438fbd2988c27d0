// The command line for completion and the manual: arguments from the parser, options from their table.

import type { Command } from 'commander'
import { COMMANDS, type CommandName, type Row } from '../../options/option.ts'
import { optionsOf } from '../../options/table.ts'

/** The parser adds this option itself. */
const HELP: Row = {
  name: '-h, --help',
  group: 'Options',
  help: 'show the options, with examples',
  commands: COMMANDS,
}

/** Commands that are not hidden. */
export function shownCommands(program: Command): Command[] {
  return COMMANDS.map((name) => program.commands.find((it) => it.name() === name)!)
}

export function shownOptions(command: Command): Row[] {
  return [...optionsOf(command.name() as CommandName).filter((it) => !it.isHidden), HELP]
}
