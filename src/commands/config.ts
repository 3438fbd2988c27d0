// Checks whether a configuration file exists before the module that reads it is loaded: most directories have no such file.

import { lstatSync, type Stats } from 'node:fs'
import { type Command, CommanderError } from 'commander'
import { CONFIG_FILE } from '../options/of-itself.ts'
import type { CommandName } from '../options/option.ts'
import { OptionRefused } from '../options/refusals.ts'
import { optionsOf } from '../options/table.ts'
import { errorCode } from '../profile/errors.ts'

const TEXT_ONLY = {
  says: '--show-config cannot be combined with --json: it prints text',
  hint: 'Leave one of the two out.',
}

/** Options of the command that came from the file, as typed on a command line. */
let fromFile: readonly string[] = []

/** Returns a note for errors of the command line, since the wrong option may come from the file; null if no option comes from the file. */
export function noteOnFile(): string | null {
  return fromFile.length === 0
    ? null
    : `From ${CONFIG_FILE}: ${fromFile.join(', ')}. --no-config ignores the file.`
}

/** Lets --show-config work without the required arguments. Call it after the arguments and options of a command have been declared. */
export function withShowConfig(command: Command): Command {
  return command.on('option:show-config', () => {
    for (const argument of command.registeredArguments) argument.required = false
    for (const option of command.options) option.mandatory = false
  })
}

/**
 * Adds the options of the file to a command.
 *
 * @param print  prints the answer to --show-config
 * @param tell   receives a line for the user
 * @throws BadConfigFile, ConfigFileOfOthers, OptionRefused; CommanderError with status 0 after the answer to --show-config
 */
export async function withConfigFile(
  command: Command,
  name: CommandName,
  print: (text: string) => void,
  tell: (line: string) => void,
): Promise<void> {
  fromFile = []
  if (!optionsOf(name).some((it) => it.name === '--no-config')) return
  const { showConfig, config } = command.opts<{ showConfig?: boolean; config: boolean }>()
  const isRead = config && isThere()
  if (!isRead && !showConfig) return
  const file = await import('./config-file.ts')
  const configured = isRead ? file.configured(command, name) : file.NOTHING
  fromFile = [...configured.taken.keys()]
  if (showConfig) {
    if (command.getOptionValueSource('json') === 'cli') throw new OptionRefused(TEXT_ONLY)
    print(file.inForce(command, name, configured, isRead))
    throw new CommanderError(0, 'jfluid.showConfig', '')
  }
  const told = configured.leftOut.filter(({ isTold }) => isTold).map(({ option }) => option)
  if (told.length > 0)
    tell(`options of ${CONFIG_FILE} that were ignored: ${told.join(', ')} (add --show-config to see why)`)
}

/**
 * Returns false if the directory is not readable or has been deleted. On Windows, the owner of a file is unknown, so no file is read there.
 */
function isThere(): boolean {
  let stats: Stats | undefined
  try {
    stats = lstatSync(CONFIG_FILE, { throwIfNoEntry: false })
  } catch (error) {
    if (errorCode(error) === 'EACCES') return false
    throw error
  }
  return stats !== undefined && process.geteuid !== undefined
}
