// What could come next on a command line that is being typed. The shells' own scripts only ask this and show it.

import type { ArgumentRow, CommandRow, Kind, OptionRow } from './table.ts'

export interface Candidate {
  readonly value: string
  readonly says: string
}

/** What a shell is to offer besides: files that end so, all files, or what it offers for another command. */
export type Files = 'none' | 'all' | '.jfluid' | '.jar' | 'command'

export interface Completion {
  readonly candidates: readonly Candidate[]
  readonly files: Files
}

/** What is only known by looking. */
export interface Known {
  jvms(): readonly Candidate[]
  formats(): Promise<readonly Candidate[]>
}

const NOTHING: Completion = { candidates: [], files: 'none' }

/** @param words  after "jfluid"; the last one is being typed, and may be empty */
export async function complete(
  commands: readonly CommandRow[],
  words: readonly string[],
  known: Known,
): Promise<Completion> {
  const typed = words.at(-1) ?? ''
  const before = words.slice(0, -1)
  const command = commands.find(({ name }) => name === before[0])
  if (before.length === 0) return { candidates: starting(commandCandidates(commands), typed), files: 'none' }
  if (before[0] === 'help') return { candidates: starting(commandCandidates(commands), typed), files: 'none' }
  if (command === undefined) return NOTHING
  return completeCommand(command, before.slice(1), typed, known)
}

function commandCandidates(commands: readonly CommandRow[]): Candidate[] {
  const general = [
    { value: '--help', says: 'what there is to do' },
    { value: '--version', says: 'of jfluid, and of its agent' },
  ]
  return [...commands.map(({ name, says }) => ({ value: name, says })), ...general]
}

async function completeCommand(
  command: CommandRow,
  before: readonly string[],
  typed: string,
  known: Known,
): Promise<Completion> {
  const programAt = before.indexOf('--')
  if (programAt >= 0) return { candidates: [], files: 'command' }
  const { waiting, given, used } = read(command, before)
  if (waiting !== undefined) return await offer(waiting.kind, waiting.choices, typed, known)
  const assigned = /^(--[a-z-]+)=(.*)$/s.exec(typed)
  if (assigned) {
    const option = command.options.find(({ long }) => long === assigned[1])
    if (option?.value === undefined) return NOTHING
    const { candidates, files } = await offer(option.kind, option.choices, assigned[2]!, known)
    return {
      candidates: candidates.map((it) => ({ ...it, value: `${assigned[1]}=${it.value}` })),
      files: candidates.length > 0 ? 'none' : files,
    }
  }
  if (typed.startsWith('-')) {
    const open = command.options.filter(({ long, isRepeatable }) => isRepeatable || !used.has(long))
    return {
      candidates: starting(
        open.map(({ long, says }) => ({ value: long, says })),
        typed,
      ),
      files: 'none',
    }
  }
  const next = argumentAt(command, given)
  if (next === undefined) return NOTHING
  return await offer(next.kind, next.choices, typed, known)
}

/** What has been typed: the option that waits for its value, arguments so far, options that were used. */
function read(command: CommandRow, before: readonly string[]) {
  const used = new Set<string>()
  let given = 0
  let waiting: OptionRow | undefined
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
    const option = command.options.find(({ short, long }) => short === name || long === name)
    if (option === undefined) continue
    used.add(option.long)
    if (option.value?.startsWith('<') && !word.includes('=')) waiting = option
  }
  return { waiting, given, used }
}

function argumentAt(command: CommandRow, given: number): ArgumentRow | undefined {
  const last = command.arguments.at(-1)
  return command.arguments[given] ?? (last?.isVariadic ? last : undefined)
}

async function offer(
  kind: Kind,
  choices: readonly string[],
  typed: string,
  known: Known,
): Promise<Completion> {
  const chosen = choices.map((value) => ({ value, says: '' }))
  switch (kind) {
    case 'pid':
      return { candidates: starting(known.jvms(), typed), files: 'none' }
    case 'format':
      return { candidates: starting(await known.formats(), typed), files: 'none' }
    case 'profile':
      return { candidates: [], files: '.jfluid' }
    case 'jar':
      return { candidates: [], files: '.jar' }
    case 'command':
      return { candidates: [], files: 'command' }
    case 'file':
      return { candidates: starting(chosen, typed), files: 'all' }
    case 'other':
      return { candidates: starting(chosen, typed), files: 'none' }
  }
}

function starting(all: readonly Candidate[], typed: string): Candidate[] {
  return all.filter(({ value }) => value.startsWith(typed))
}

/** For the scripts: what files to offer, then a candidate a line, behind a tab what it is. */
export function completionText({ candidates, files }: Completion): string {
  const line = (text: string) => text.replace(/[\t\n\r]/g, ' ')
  return [files, ...candidates.map(({ value, says }) => `${line(value)}\t${line(says)}`), ''].join('\n')
}
