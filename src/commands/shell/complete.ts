// Completion of a command line. The scripts in the shells only call this command and show the result.

import type { Argument, Command } from 'commander'
import { listJvms } from '../../attach/jvms.ts'
import { argumentOf, helpOf, longOf, type Row, shortOf } from '../../options/option.ts'
import { clean } from '../../profile/text.ts'
import { shownCommands, shownOptions } from './command-line.ts'

export interface Candidate {
  readonly value: string
  readonly says: string
}

/** Files that the shell offers in addition: files with this ending, all files, or the completion of another command. */
export type Files = 'none' | 'all' | '.jfluid' | '.jar' | 'command'

export interface Completion {
  readonly candidates: readonly Candidate[]
  readonly files: Files
}

/** Values that must be determined at run time. */
export type Known = Readonly<Record<'pid' | 'format', () => Promise<readonly Candidate[]>>>

const HERE: Known = {
  pid: async () =>
    listJvms()
      .filter(({ attachable }) => attachable === true)
      .map(({ pid, mainClass }) => ({ value: `${pid}`, says: clean(mainClass ?? '?') })),
  async format() {
    const { formats } = await import('../../export/formats.ts')
    return formats.map(({ name, description }) => ({ value: name, says: description }))
  },
}

/** Kind of value at a position of the command line. */
type Kind = keyof Known | 'profile' | 'file' | 'jar' | 'command' | 'other'

const FILES: { readonly [kind in Kind]?: Files } = {
  file: 'all',
  jar: '.jar',
  profile: '.jfluid',
  command: 'command',
}
/** Kinds of values, keyed by the name of the argument. */
const KINDS: Readonly<Record<string, Kind>> = {
  pid: 'pid',
  command: 'command',
  file: 'profile',
  baseline: 'profile',
  other: 'profile',
  before: 'profile',
  after: 'profile',
}
const NOTHING: Completion = { candidates: [], files: 'none' }

/** @param words  words after "jfluid"; the last word is being typed, and may be empty */
export async function complete(
  program: Command,
  words: readonly string[],
  known = HERE,
): Promise<Completion> {
  const typed = words.at(-1) ?? ''
  const before = words.slice(0, -1)
  const commands = shownCommands(program)
  if (before.length === 0 || before[0] === 'help')
    return { candidates: starting(commandCandidates(commands), typed), files: 'none' }
  const command = commands.find((it) => it.name() === before[0])
  if (command === undefined) return NOTHING
  return completeCommand(command, before.slice(1), typed, known)
}

function commandCandidates(commands: readonly Command[]): Candidate[] {
  const general = [
    { value: '--help', says: 'show the commands' },
    { value: '--version', says: 'print the versions of jfluid and of its agent' },
  ]
  return [...commands.map((it) => ({ value: it.name(), says: it.description() })), ...general]
}

async function completeCommand(
  command: Command,
  before: readonly string[],
  typed: string,
  known: Known,
): Promise<Completion> {
  if (before.includes('--')) return { candidates: [], files: 'command' }
  const options = shownOptions(command)
  const ofOption = ({ offers, value }: Row, text: string): Promise<Completion> =>
    offer(offers ?? 'other', value?.choices ?? [], text, known)
  const { waiting, given, used } = read(options, before)
  if (waiting !== undefined) return await ofOption(waiting, typed)
  const assigned = /^(--[a-z-]+)=(.*)$/s.exec(typed)
  if (assigned) {
    const row = options.find((it) => longOf(it) === assigned[1])
    if (row === undefined || argumentOf(row) === undefined) return NOTHING
    const { candidates, files } = await ofOption(row, assigned[2]!)
    return {
      candidates: candidates.map((it) => ({ ...it, value: `${assigned[1]}=${it.value}` })),
      files: candidates.length > 0 ? 'none' : files,
    }
  }
  if (typed.startsWith('-')) {
    const open = options.filter((it) => it.isRepeatable || !used.has(it))
    const all = open.map((it) => ({ value: longOf(it), says: helpOf(it) }))
    return { candidates: starting(all, typed), files: 'none' }
  }
  const next = argumentAt(command, given)
  if (next === undefined) return NOTHING
  return await offer(KINDS[next.name()] ?? 'other', next.argChoices ?? [], typed, known)
}

/** Parses the complete words: the option that expects a value, the number of arguments so far, and the options used. */
function read(options: readonly Row[], before: readonly string[]) {
  const used = new Set<Row>()
  let given = 0
  let waiting: Row | undefined
  for (const word of before) {
    if (waiting !== undefined) {
      waiting = undefined
      continue
    }
    if (!word.startsWith('-') || word === '-') {
      given++
      continue
    }
    const name = word.split('=', 1)[0]
    const row = options.find((it) => shortOf(it) === name || longOf(it) === name)
    if (row === undefined) continue
    used.add(row)
    if (argumentOf(row) !== undefined && !word.includes('=')) waiting = row
  }
  return { waiting, given, used }
}

function argumentAt({ registeredArguments: all }: Command, given: number): Argument | undefined {
  const last = all.at(-1)
  return all[given] ?? (last?.variadic ? last : undefined)
}

async function offer(
  kind: Kind,
  choices: readonly string[],
  typed: string,
  known: Known,
): Promise<Completion> {
  const all =
    kind === 'pid' || kind === 'format' ? await known[kind]() : choices.map((value) => ({ value, says: '' }))
  return { candidates: starting(all, typed), files: FILES[kind] ?? 'none' }
}

function starting(all: readonly Candidate[], typed: string): Candidate[] {
  return all.filter(({ value }) => value.startsWith(typed))
}

/** Output for the scripts: the kind of files, then one candidate per line, followed by a tab and its description. */
export function completionText({ candidates, files }: Completion): string {
  const line = (text: string) => text.replace(/[\t\n\r]/g, ' ')
  return [files, ...candidates.map(({ value, says }) => `${line(value)}\t${line(says)}`), ''].join('\n')
}
