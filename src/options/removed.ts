// Options that earlier versions took, and what to use in their place. A command that took one refuses it by name: a script that
// still has it learns what to change, and does not record something else than before.

import { type Command, Option } from 'commander'
import { UsageError } from '../base/errors.ts'
import { type CommandName, GROUPS, SESSION } from './option.ts'

export interface RemovedOption {
  /** As it was typed, with its dashes. */
  readonly option: string
  /** The commands that took it; those with options of a session unless given. */
  readonly commands?: readonly CommandName[]
  /** If only this value of it was removed. */
  readonly value?: string
  /** Why, to follow "was removed: ". */
  readonly why: string
  /** What to do now: one sentence. */
  readonly instead: string
}

/** One row for each option, or value, that was removed. */
export const REMOVED_OPTIONS: readonly RemovedOption[] = [
  {
    option: '--error-bars',
    why: 'an error bar could be larger than the time it was for',
    instead:
      'Leave it out: the report says how long the probes take that are subtracted, and by how much that varies. --mode sample samples without probes.',
  },
  {
    option: '--proof',
    why: 'the time of a root call varies too much to show whether a session left something behind',
    instead:
      'Leave it out: every detach compares the code of all methods that had probes with the code from before, and says so.',
  },
  {
    option: '--look-ahead',
    why: 'no number was better than its default, which is always used now',
    instead: 'Leave it out, or take --scheme a, which instruments all that is reachable at once.',
  },
  {
    option: '--rare',
    why: 'scheme adaptive leaves methods that hardly run alone, too, and changes far fewer classes',
    instead:
      'Leave --rare arm out, as schemes a and b do nothing else; in place of --rare watch take --scheme adaptive, which auto takes in large programs.',
  },
  {
    option: '--waits',
    why: 'scheme adaptive tells how long each row waited, and for what',
    instead:
      'Take --mode locks, which records every call as --waits did; or --scheme adaptive, whose rows have states.',
  },
  {
    option: '--sampler',
    value: 'stacks',
    commands: [...SESSION, 'roots'],
    why: 'dumps of threads are what is taken by itself where the flight recorder would do harm, or is not there',
    instead:
      'Leave it out; --sampler jfr insists on the flight recorder. jfluid roots looks by dumps unless told otherwise.',
  },
  {
    option: '--push-name',
    commands: ['record', 'push'],
    why: 'the name of a service is a label of the profile like any other',
    instead: 'Take --label service_name=<service> in its place.',
  },
  {
    option: '--shape',
    commands: ['compare'],
    why: 'how much two trees agree is the line agree of what compare says',
    instead: 'Leave it out, with two profiles of one --mode.',
  },
  {
    option: '--output',
    commands: ['run'],
    why: 'the output of a program under the live view has a file of its own',
    instead:
      'Leave it out: jfluid-run-<pid>.log in the current directory has that, and jfluid says so; or take --record, and > file in the shell.',
  },
]

/** Hidden options count where the help has its groups in the order of their first options. */
const FIRST_GROUP = `${GROUPS[0]}:`

export class OptionRemoved extends UsageError {
  static sample = () => new OptionRemoved(REMOVED_OPTIONS[0]!)
  readonly hint: string
  constructor({ option, value, why, instead }: RemovedOption) {
    super(`${value === undefined ? option : `${option} ${value}`} was removed: ${why}`)
    this.hint = instead
  }
}

/**
 * Has a command refuse them. Before its own options are added: whether a value is one that was removed is looked at before
 * whether it is one at all.
 */
export function withRemovedOptions(command: Command, removed: readonly RemovedOption[]): Command {
  for (const row of removed) {
    // It may have had a value, or not.
    if (row.value === undefined)
      command.addOption(new Option(`${row.option} [value]`).hideHelp().helpGroup(FIRST_GROUP))
    command.on(`option:${row.option.slice(2)}`, (value: unknown) => {
      if (row.value === undefined || row.value === value) throw new OptionRemoved(row)
    })
  }
  return command
}

/** Those that a command took. */
export function removedFrom(name: CommandName): readonly RemovedOption[] {
  return REMOVED_OPTIONS.filter(({ commands = SESSION }) => commands.includes(name))
}

/**
 * The same for options of the library, which has them in camel case.
 *
 * @throws OptionRemoved
 */
export function checkRemovedOptions(options: object, removed = removedFrom('session')): void {
  for (const row of removed) {
    const given: unknown = Reflect.get(options, new Option(row.option).attributeName())
    if (given !== undefined && (row.value === undefined || row.value === given)) throw new OptionRemoved(row)
  }
}
