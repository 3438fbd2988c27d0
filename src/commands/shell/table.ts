// The command line as completion and the manual have it: arguments by the parser, options by their table.

import type { Command } from 'commander'
import { COMMANDS, type CommandName, type Row } from '../../options/option.ts'
import { optionsOf } from '../../options/table.ts'

/** The parser adds it by itself. */
const HELP: Row = {
  name: '-h, --help',
  group: 'Options',
  help: 'what there is to choose, with examples',
  commands: COMMANDS,
}

/** Those that are not hidden. */
export function shownCommands(program: Command): Command[] {
  return COMMANDS.map((name) => program.commands.find((it) => it.name() === name)!)
}

export function shownOptions(command: Command): Row[] {
  return [...optionsOf(command.name() as CommandName).filter((it) => !it.isHidden), HELP]
}
