// jfluid.config.json: options of the commands that are run in a directory, by name. The command line wins.
//
// It lies in a directory that may have come from anywhere, so nothing in it runs code, writes a file, sends data, names a key or
// gives consent.

import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { type Command, InvalidArgumentError } from 'commander'
import { maxOf } from '../base/arrays.ts'
import { EX_CONFIG, EX_NOPERM, JfluidError } from '../base/errors.ts'
import { argumentOf, attributeOf, type CommandName, longOf, type Row } from '../options/option.ts'
import { read, typedText } from '../options/parser.ts'
import { OPTIONS, optionsOf } from '../options/table.ts'
import { errorCode, reasonOf } from '../profile/errors.ts'
import { jsonText } from '../profile/json-text.ts'
import { clean } from '../profile/text.ts'
import { nearest } from '../reveal/near.ts'
import { CONFIG_FILE } from './config.ts'

const MOST_BYTES = 65_536

/** It cannot be read as options. */
export class BadConfigFile extends JfluidError {
  readonly exitCode = EX_CONFIG
  readonly hint: string
  constructor(problem: string, hint = 'Correct it, or leave it out with --no-config.') {
    super(`${CONFIG_FILE}: ${problem}`)
    this.hint = hint
  }
}

/** Whoever wrote it could choose what we do. */
export class ConfigFileOfOthers extends JfluidError {
  readonly exitCode = EX_NOPERM
  readonly hint = 'Make a copy of your own that only you can write, or leave it out with --no-config.'
  constructor(why: string) {
    super(`${CONFIG_FILE} of this directory ${why}, and is not read`)
  }
}

/** Values that were taken from it, by attribute, as they are written there. */
export type Configured = ReadonlyMap<string, string>

/**
 * Gives a command what the file says and the command line does not.
 *
 * @throws BadConfigFile, ConfigFileOfOthers
 */
export function configured(command: Command, name: CommandName, directory: string): Configured {
  const taken = new Map<string, string>()
  const entries = Object.entries(contentsOf(join(directory, CONFIG_FILE)))
  for (const [key, value] of entries) checkKey(key, value)
  for (const [key, value] of entries) {
    const row = optionsOf(name).find((it) => longOf(it) === `--${key}`)
    if (row === undefined) continue
    const found = configuredValue(row, key, value)
    const attribute = attributeOf(row)
    if (command.getOptionValueSource(attribute) === 'cli') continue
    command.setOptionValueWithSource(attribute, found, 'config')
    taken.set(attribute, Array.isArray(value) ? value.join(', ') : `${value}`)
  }
  return taken
}

/** @throws BadConfigFile */
function checkKey(key: string, value: unknown): void {
  const rows = OPTIONS.filter((it) => longOf(it) === `--${key}` && it.group !== 'Options')
  if (rows.length === 0) {
    const names = OPTIONS.filter((it) => it.group !== 'Options' && !it.isHidden).map((it) =>
      longOf(it).slice(2),
    )
    const [close] = nearest(
      key.replace(/[A-Z]/g, (it) => `-${it.toLowerCase()}`),
      new Set(names),
    )
    const hint =
      close === undefined ? 'See the names of options with --help.' : `Write "${close}", if that is meant.`
    throw new BadConfigFile(`there is no option "${key}"`, hint)
  }
  if (rows.every(({ commands }) => commands.includes('proxy')))
    throw new BadConfigFile(`"${key}" is for jfluid proxy, which reads no such file`)
  for (const { reaches, harmless } of rows) {
    if (reaches === undefined || harmless?.includes(`${value}`)) continue
    throw new BadConfigFile(
      `"${key}" ${reaches}, and is only taken from the command line`,
      `Give --${key} on the command line, and take it out of the file.`,
    )
  }
}

/** @throws BadConfigFile */
function configuredValue(row: Row, key: string, value: unknown): unknown {
  const bad = (is: string): BadConfigFile => new BadConfigFile(`"${key}" cannot be ${jsonText(value)}: ${is}`)
  if (argumentOf(row) === undefined) {
    if (typeof value !== 'boolean') throw bad('It is true or false.')
    return longOf(row).startsWith('--no-') ? !value : value
  }
  const texts = Array.isArray(value) ? value : [value]
  if (!row.isRepeatable && Array.isArray(value)) throw bad('It is one value.')
  if (!texts.every((it) => typeof it === 'string' || typeof it === 'number'))
    throw bad('It is text or a number.')
  try {
    const all = texts.map((it) => read(row, `${it}`))
    return row.isRepeatable ? all : all[0]
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error
    throw bad(error.message)
  }
}

/** @throws BadConfigFile, ConfigFileOfOthers */
function contentsOf(path: string): object {
  let text: string
  try {
    text = textOf(path)
  } catch (error) {
    if (error instanceof JfluidError) throw error
    throw new BadConfigFile(`it cannot be read: ${reasonOf(errorCode(error))}`)
  }
  let contents: unknown
  try {
    contents = JSON.parse(text)
  } catch (error) {
    throw new BadConfigFile(`it is not JSON: ${error instanceof Error ? error.message : error}`)
  }
  if (typeof contents === 'object' && contents !== null && !Array.isArray(contents)) return contents
  throw new BadConfigFile('it is not an object', 'Write options by name: { "max-overhead": "5%" }')
}

function textOf(path: string): string {
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK) // a pipe has no writer
  try {
    const { uid, mode, size } = fstatSync(file)
    if ((mode & constants.S_IFMT) !== constants.S_IFREG) throw new BadConfigFile('it is no file')
    if (uid !== process.geteuid?.()) throw new ConfigFileOfOthers(`belongs to user ${uid}`)
    if ((mode & 0o002) !== 0) throw new ConfigFileOfOthers('can be written by everybody')
    if (size > MOST_BYTES) throw new BadConfigFile(`it has ${size} bytes, and ${MOST_BYTES} at most are read`)
    const bytes = Buffer.alloc(size)
    return bytes.toString('utf8', 0, readSync(file, bytes, 0, size, 0))
  } finally {
    closeSync(file)
  }
}

/** What --show-config prints. */
export function inForce(
  command: Command,
  name: CommandName,
  taken: Configured,
  directory: string | null,
): string {
  const lines: string[][] = []
  for (const row of optionsOf(name)) {
    if (row.isHidden || row.group === 'Options') continue
    const attribute = attributeOf(row)
    const value: unknown = command.getOptionValue(attribute)
    const source = command.getOptionValueSource(attribute)
    if (value === undefined || source === undefined || (source === 'default' && row.default === undefined))
      continue
    const typed = typedText(command, row)
    const shown = source === 'cli' ? typed.join(', ') : (taken.get(attribute) ?? `${value}`)
    const from = source === 'cli' ? 'command line' : source === 'config' ? CONFIG_FILE : 'default'
    lines.push([longOf(row), clean(shown), from])
  }
  const widths = [0, 1].map((i) =>
    maxOf(
      lines.map((it) => it[i]!.length),
      0,
    ),
  )
  const rows = lines.map((it) => `  ${it[0]!.padEnd(widths[0]!)}  ${it[1]!.padEnd(widths[1]!)}  ${it[2]}`)
  const file = directory === null ? `no ${CONFIG_FILE} is read` : join(directory, CONFIG_FILE)
  if (rows.length === 0) rows.push('  none')
  return [`jfluid ${name}, options in force (${clean(file)}):`, ...rows, ''].join('\n')
}
