// jfluid.config.json: options for commands that are run in its directory. The command line has precedence.
//
// The directory may come from an untrusted source. So nothing in the file can run code, write a file, send data, name a key or give
// consent.

import { closeSync, constants, fstatSync, lstatSync, openSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { type Command, InvalidArgumentError } from 'commander'
import { maxOf } from '../base/arrays.ts'
import { EX_CONFIG, EX_NOPERM, JfluidError } from '../base/errors.ts'
import { CONFIG_FILE } from '../options/of-itself.ts'
import {
  argumentOf,
  attributeOf,
  type CommandName,
  defaultOf,
  longOf,
  type Refusal,
  type Row,
} from '../options/option.ts'
import { read, typedText } from '../options/parser.ts'
import {
  byAllCalls,
  byExclusion,
  byModeSchemeAndValue,
  byNeeds,
  type Given,
  isGiven,
  notWithAllOf,
  withRegion,
  withSamples,
} from '../options/refusals.ts'
import { REMOVED_OPTIONS } from '../options/removed.ts'
import { OPTIONS, optionsOf } from '../options/table.ts'
import { errorCode, reasonOf } from '../profile/errors.ts'
import { jsonText } from '../profile/json-text.ts'
import { clean, width } from '../profile/text.ts'
import { nearest } from '../reveal/near.ts'
import { isSampledByJvm } from './whole-jvm-options.ts'

const MAX_FILE_BYTES = 65_536

/** The file does not contain valid options. */
export class BadConfigFile extends JfluidError {
  static sample = () => new BadConfigFile('there is no option "rot"')
  readonly exitCode = EX_CONFIG
  readonly hint: string
  constructor(problem: string, hint = 'Correct the file, or ignore it with --no-config.') {
    super(`${CONFIG_FILE}: ${problem}`)
    this.hint = hint
  }
}

/** The file's owner, or another user with write permission, would control the options of this user. */
export class ConfigFileOfOthers extends JfluidError {
  static sample = () => new ConfigFileOfOthers('belongs to user 0')
  readonly exitCode = EX_NOPERM
  readonly hint: string
  constructor(why: string, todo = 'Replace the file by a copy that you own') {
    super(`${CONFIG_FILE} of this directory ${why}, so jfluid does not read it`)
    this.hint = `${todo}, or ignore the file with --no-config.`
  }
}

interface LeftOut {
  /** The option as typed on a command line. */
  readonly option: string
  readonly why: string
  /** Whether jfluid reports the ignored option even without --show-config. */
  readonly isTold: boolean
}

export interface Configured {
  /** Values as written in the file, keyed by option as typed on a command line. */
  readonly taken: ReadonlyMap<string, string>
  readonly leftOut: readonly LeftOut[]
}

export const NOTHING: Configured = { taken: new Map(), leftOut: [] }

/**
 * Adds the options of the file that are missing on the command line. Options of the file that conflict with other options are ignored.
 *
 * @throws BadConfigFile, ConfigFileOfOthers
 */
export function configured(command: Command, name: CommandName): Configured {
  const entries = Object.entries(contents())
  for (const [key, value] of entries) checkKey(key, value)
  const values = new Map<Row, unknown>()
  const leftOut: LeftOut[] = []
  for (const row of optionsOf(name)) {
    const entry = entries.find(([key]) => longOf(row) === `--${key}`)
    if (entry === undefined) continue
    const value = valueOfOption(row, entry[0], entry[1])
    if (command.getOptionValueSource(attributeOf(row)) === 'cli') continue
    const why = `for ${name} this option works only on the command line`
    if (isOnlyTyped(row, value)) leftOut.push({ option: longOf(row), why, isTold: false })
    else values.set(row, value)
  }
  // Options of the file are added one by one, in the order of the table. An option may need another option that is added later. So each
  // pass tries the refused options again, until a pass adds no option.
  const taken = new Map<string, string>()
  let refused: LeftOut[] = []
  for (let before = -1; before < taken.size; ) {
    before = taken.size
    refused = []
    for (const [row, value] of values) {
      const [option, attribute] = [longOf(row), attributeOf(row)]
      if (taken.has(option)) continue
      command.setOptionValueWithSource(attribute, value, 'config')
      const found = refusalIn(command, row)
      if (found === null) {
        const [, written] = entries.find(([key]) => option === `--${key}`)!
        taken.set(option, Array.isArray(written) ? written.join(', ') : `${written}`)
      } else {
        command.setOptionValueWithSource(attribute, row.default, 'default')
        refused.push({ option, ...found })
      }
    }
  }
  return { taken, leftOut: [...leftOut, ...refused] }
}

/**
 * Returns why an option of the file is ignored: the command line already names the JVM, or the option conflicts with another option or
 * requires one.
 */
function refusalIn(command: Command, row: Row): Omit<LeftOut, 'option'> | null {
  const { args } = command
  const given: Given = command.opts()
  if (!isGiven(row, given)) return null
  const typed = rowsFrom(command, 'cli').find((it) => SAYS_WHICH.includes(attributeOf(it)))
  const which = args[0] ?? (typed === undefined ? undefined : longOf(typed))
  if (SAYS_WHICH.includes(attributeOf(row)) && which !== undefined)
    return { why: `${which} already names the JVM`, isTold: false }
  const needed = byNeeds(row, given)
  if (needed !== null) return { why: needed.says, isTold: false }
  const refusal = refusalOf(row, given) ?? refusalOfOthers(command, row)
  return refusal === null ? null : { why: refusal.says, isTold: true }
}

const SAYS_WHICH: readonly string[] = ['all', 'waitFor']

function refusalOf(row: Row, given: Given): Refusal | null {
  const all = given.all === undefined ? null : notWithAllOf(row)
  if (given.region !== undefined) return all ?? withRegion(row, given) ?? byExclusion(row, given)
  if (isSampledByJvm(given)) return all ?? withSamples(row, given) ?? byExclusion(row, given)
  return all ?? byModeSchemeAndValue(row, given) ?? byExclusion(row, given) ?? byAllCalls(row, given)
}

/** Returns the refusal of another option, typed or from the file, that is refused only because of this option. */
function refusalOfOthers(command: Command, row: Row): Refusal | null {
  const given: Given = command.opts()
  const without: Given = { ...given, [attributeOf(row)]: row.default }
  for (const other of rowsFrom(command, 'cli', 'config')) {
    const refusal = refusalOf(other, given)
    if (refusal !== null && refusalOf(other, without) === null) return refusal
  }
  return null
}

function rowsFrom(command: Command, ...sources: readonly string[]): readonly Row[] {
  const rows = optionsOf(command.name() as CommandName)
  return rows.filter((it) => sources.includes(command.getOptionValueSource(attributeOf(it)) ?? ''))
}

/** Returns whether a command that reads the file has the option. */
function isRead({ commands }: Row): boolean {
  return commands.some((it) => optionsOf(it).some(({ name }) => name === '--no-config'))
}

function isOnlyTyped({ harmless, notInFile }: Row, value: unknown): boolean {
  return notInFile !== undefined && !(typeof value === 'string' && harmless?.includes(value))
}

/** @throws BadConfigFile */
function checkKey(key: string, value: unknown): void {
  const removed = REMOVED_OPTIONS.find(
    (it) => it.option === `--${key}` && (it.value === undefined || it.value === value),
  )
  if (removed !== undefined) {
    const what = removed.value === undefined ? `"${key}"` : `"${key}": "${removed.value}"`
    throw new BadConfigFile(`${what} was removed: ${removed.why}`, removed.instead)
  }
  const rows = OPTIONS.filter((it) => longOf(it) === `--${key}`)
  if (rows.length === 0) throw new BadConfigFile(`there is no option "${key}"`, nearestHint(key))
  if (!rows.some(isRead))
    throw new BadConfigFile(
      `"${key}" can only be given on the command line`,
      'Remove the option from the file, or ignore the file with --no-config.',
    )
  // The file may set an option of this name for another command.
  if (rows.some((it) => !isOnlyTyped(it, value))) return
  throw new BadConfigFile(
    `"${key}" ${rows[0]!.notInFile}, so it can only be given on the command line`,
    `Give --${key} on the command line, and remove it from the file.`,
  )
}

function nearestHint(key: string): string {
  const names = OPTIONS.filter(isRead).map((it) => longOf(it).slice(2))
  const [close] = nearest(
    key.replace(/[A-Z]/g, (it) => `-${it.toLowerCase()}`),
    names,
  )
  return close === undefined ? 'List the options with --help.' : `Did you mean "${close}"?`
}

/** @throws BadConfigFile */
function valueOfOption(row: Row, key: string, value: unknown): unknown {
  const bad = (is: string): BadConfigFile => new BadConfigFile(`"${key}" cannot be ${jsonText(value)}: ${is}`)
  if (argumentOf(row) === undefined) {
    if (typeof value !== 'boolean') throw bad('It is true or false.')
    return longOf(row).startsWith('--no-') ? !value : value
  }
  if (!row.isRepeatable && Array.isArray(value)) throw bad('It is one value.')
  const texts = Array.isArray(value) ? value : [value]
  if (texts.length === 0) throw bad('It has at least one value.')
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
function contents(): object {
  let text: string
  try {
    text = textOfFile()
  } catch (error) {
    if (error instanceof JfluidError) throw error
    throw new BadConfigFile(`jfluid cannot read the file: ${reasonOf(errorCode(error))}`)
  }
  let found: unknown
  try {
    found = JSON.parse(text)
  } catch (error) {
    throw new BadConfigFile(`the file is not JSON: ${error instanceof Error ? error.message : error}`)
  }
  if (typeof found === 'object' && found !== null && !Array.isArray(found)) return found
  throw new BadConfigFile('the file is not a JSON object', 'Write options by name: { "max-overhead": "5%" }')
}

/** Reads the file. A symbolic link must belong to the user too, since the link determines which file is read. */
function textOfFile(): string {
  mustBeOurs(lstatSync(CONFIG_FILE).uid)
  const file = openSync(CONFIG_FILE, constants.O_RDONLY | constants.O_NONBLOCK) // a pipe may have no writer
  try {
    const { uid, mode, size } = fstatSync(file)
    if ((mode & constants.S_IFMT) !== constants.S_IFREG) throw new BadConfigFile('it is not a regular file')
    mustBeOurs(uid)
    if ((mode & 0o022) !== 0)
      throw new ConfigFileOfOthers('is writable for other users', `Run chmod go-w ${CONFIG_FILE}`)
    if (size > MAX_FILE_BYTES)
      throw new BadConfigFile(`the file has ${size} bytes, and the limit is ${MAX_FILE_BYTES}`)
    const bytes = Buffer.alloc(size)
    return bytes.toString('utf8', 0, readSync(file, bytes, 0, size, 0)).replace(/^\ufeff/, '') // a byte order mark
  } finally {
    closeSync(file)
  }
}

function mustBeOurs(uid: number): void {
  if (uid !== process.geteuid?.()) throw new ConfigFileOfOthers(`belongs to user ${uid}`)
}

/** Returns the text that --show-config prints. */
export function inForce(
  command: Command,
  name: CommandName,
  { taken, leftOut }: Configured,
  isRead: boolean,
): string {
  const lines: [option: string, value: string, from: string][] = []
  const given: Given = command.opts()
  for (const row of optionsOf(name)) {
    if (row.isHidden || row.group === 'Options') continue
    const [option, attribute, byDefault] = [longOf(row), attributeOf(row), defaultOf(row)]
    const implying = optionsOf(name).find((it) => it.implies?.[attribute] !== undefined && isGiven(it, given))
    const assumed: Given = { ...given, [attribute]: byDefault }
    const fromFile = taken.get(option)
    if (fromFile !== undefined) lines.push([option, clean(fromFile), CONFIG_FILE])
    else if (command.getOptionValueSource(attribute) === 'cli') {
      const typed = typedText(command, row)
      lines.push([option, clean(typed.length > 0 ? typed.join(', ') : 'true'), 'command line'])
    } else if (implying !== undefined)
      lines.push([option, `${implying.implies![attribute]}`, `implied by ${longOf(implying)}`])
    else if (byDefault !== undefined && (byNeeds(row, assumed) ?? refusalOf(row, assumed)) === null)
      lines.push([option, byDefault, 'default'])
  }
  const [options, values] = [0, 1].map((i) => maxOf([0, ...lines.map((it) => width(it[i]!))]))
  const padded = (text: string, cells: number): string => text + ' '.repeat(cells - width(text))
  const rows = lines.map((it) => `  ${padded(it[0], options!)}  ${padded(it[1], values!)}  ${it[2]}`)
  const file = isRead ? join(process.cwd(), CONFIG_FILE) : `no ${CONFIG_FILE} is read`
  return [
    `jfluid ${name}, effective options (${clean(file)}):`,
    ...(rows.length === 0 ? ['  none'] : rows),
    ...leftOut.map(({ option, why }) => `ignored: ${option}: ${clean(why)}`),
    '',
  ].join('\n')
}
