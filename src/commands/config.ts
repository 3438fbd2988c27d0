// Whether a command has options from a configuration file, before that is read: most directories have none.

import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { type Command, CommanderError } from 'commander'
import type { CommandName } from '../options/option.ts'
import { optionsOf } from '../options/table.ts'

export const CONFIG_FILE = 'jfluid.config.json'

/** @throws BadConfigFile, ConfigFileOfOthers; CommanderError with status 0 once --show-config has been answered */
export async function withConfigFile(
  command: Command,
  name: CommandName,
  directory: string,
  print: (text: string) => void,
): Promise<void> {
  if (!optionsOf(name).some((it) => it.name === '--no-config')) return
  const { showConfig, config } = command.opts<{ showConfig?: boolean; config: boolean }>()
  const isRead = config && lstatSync(join(directory, CONFIG_FILE), { throwIfNoEntry: false }) !== undefined
  if (!isRead && !showConfig) return
  const { configured, inForce } = await import('./config-file.ts')
  const taken = isRead ? configured(command, name, directory) : new Map<string, string>()
  if (!showConfig) return
  print(inForce(command, name, taken, isRead ? directory : null))
  throw new CommanderError(0, 'jfluid.showConfig', '')
}
