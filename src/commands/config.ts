// Whether a command has options from a configuration file, before that is read: most directories have none.

import { lstatSync, type Stats } from 'node:fs'
import { type Command, CommanderError } from 'commander'
import { CONFIG_FILE } from '../options/of-itself.ts'
import type { CommandName } from '../options/option.ts'
import { optionsOf } from '../options/table.ts'
import { errorCode } from '../profile/errors.ts'

/** Options that the command has from the file, as they would be typed. */
let fromFile: readonly string[] = []

/** What is told with an error of the command line, as what is wrong may be in the file; null if nothing is from there. */
export function saidOfFile(): string | null {
  return fromFile.length === 0
    ? null
    : `From ${CONFIG_FILE}: ${fromFile.join(', ')}. --no-config leaves the file out.`
}

/** --show-config is answered whatever else is missing. To be asked once a command has its arguments and options. */
export function withShowConfig(command: Command): Command {
  return command.on('option:show-config', () => {
    for (const argument of command.registeredArguments) argument.required = false
    for (const option of command.options) option.mandatory = false
  })
}

/**
 * Gives a command its options from the file.
 *
 * @param print  the answer to --show-config
 * @param tell   a line for the user
 * @throws BadConfigFile, ConfigFileOfOthers; CommanderError with status 0 once --show-config has been answered
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
    print(file.inForce(command, name, configured, isRead))
    throw new CommanderError(0, 'jfluid.showConfig', '')
  }
  const told = configured.leftOut.filter(({ isTold }) => isTold).map(({ option }) => option)
  if (told.length > 0) tell(`of ${CONFIG_FILE}, left out: ${told.join(', ')} (add --show-config to see why)`)
}

/** Where the directory cannot be looked at, or is gone, there is none that could be read. On Windows it is not known whose a file is. */
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
