// Whether a command has options from a configuration file, before that is read: most directories have none.

import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { type Command, CommanderError } from 'commander'
import { attributeOf, type CommandName, longOf } from '../options/option.ts'
import { optionsOf } from '../options/table.ts'

export const CONFIG_FILE = 'jfluid.config.json'

/** Options that the command has from the file, as they would be typed. */
let fromFile: readonly string[] = []

/** What is told with an error that names an option which was not typed; null if none was. */
export function saidByFile(message: string): string | null {
  const words = new Set(message.match(/--[a-z-]+/g))
  const named = fromFile.filter((it) => words.has(it))
  return named.length === 0 ? null : `From ${CONFIG_FILE}: ${named.join(', ')}. --no-config leaves that out.`
}

/** --show-config is answered whatever else is missing. To be asked once a command has its arguments and options. */
export function withShowConfig(command: Command): Command {
  return command.on('option:show-config', () => {
    for (const argument of command.registeredArguments) argument.required = false
    for (const option of command.options) option.mandatory = false
  })
}

/** @throws BadConfigFile, ConfigFileOfOthers; CommanderError with status 0 once --show-config has been answered */
export async function withConfigFile(
  command: Command,
  name: CommandName,
  directory: string,
  print: (text: string) => void,
): Promise<void> {
  fromFile = []
  if (!optionsOf(name).some((it) => it.name === '--no-config')) return
  const { showConfig, config } = command.opts<{ showConfig?: boolean; config: boolean }>()
  const isRead = config && lstatSync(join(directory, CONFIG_FILE), { throwIfNoEntry: false }) !== undefined
  if (!isRead && !showConfig) return
  const { configured, inForce } = await import('./config-file.ts')
  const taken = isRead ? configured(command, name, directory) : new Map<string, string>()
  const rows = optionsOf(name).filter((it) => taken.has(attributeOf(it)))
  fromFile = rows.map(longOf)
  if (!showConfig) return
  print(inForce(command, name, taken, isRead ? directory : null))
  throw new CommanderError(0, 'jfluid.showConfig', '')
}
