// Options of earlier versions, and their replacements. A command refuses a removed option by name. So an old script fails with
// advice, and never silently records other data than before.

import { type Command, Option } from 'commander'
import { UsageError } from '../base/errors.ts'
import { type CommandName, GROUPS, SESSION } from './option.ts'

export interface RemovedOption {
  /** Name of the removed option, with dashes: `--rare`. */
  readonly option: string
  /** Commands that accepted the option. Default: all commands with session options. */
  readonly commands?: readonly CommandName[]
  /** Removed value, if the option itself still exists. */
  readonly value?: string
  /** Reason, printed after "was removed: ". */
  readonly why: string
  /** Advice to the user: one sentence. */
  readonly instead: string
}

/** One row for each removed option or value. */
export const REMOVED_OPTIONS: readonly RemovedOption[] = [
  {
    option: '--error-bars',
    why: 'the shown error could be larger than the time itself',
    instead:
      'Leave the option out: the report says how much time is subtracted for probes, and how much that varies. --mode sample works without probes.',
  },
  {
    option: '--proof',
    why: 'the time of a root call varies too much to show whether a session left something behind',
    instead:
      'Leave the option out: each detach compares the code of all methods that had probes with their original code.',
  },
  {
    option: '--look-ahead',
    why: 'no other number was better than the default, which is always used now',
    instead: 'Leave the option out, or use --scheme a, which instruments all reachable methods at once.',
  },
  {
    option: '--rare',
    why: 'scheme adaptive also leaves rarely called methods unchanged, and changes far fewer classes',
    instead:
      'Leave --rare arm out: schemes a and b always work this way. Replace --rare watch by --scheme adaptive, which auto uses in large programs.',
  },
  {
    option: '--waits',
    why: 'scheme adaptive shows how long each row waited, and for what',
    instead:
      'Use --mode locks, which records each call as --waits did; or --scheme adaptive, which shows thread states.',
  },
  {
    option: '--sampler',
    value: 'stacks',
    commands: SESSION,
    why: 'thread dumps are the default where the flight recorder is missing or would do harm',
    instead: 'Leave the option out. --sampler jfr always uses the flight recorder.',
  },
  {
    option: '--format',
    value: 'nps',
    commands: ['export'],
    why: 'the format of VisualVM has no bytecodes, bytes or call sites, and at most 65,535 methods',
    instead:
      'Use --format html, a page with tree, flame graph and hot methods; or speedscope or pprof for another viewer.',
  },
  {
    option: '--format',
    value: 'callgrind',
    commands: ['export'],
    why: 'pprof has the same costs, and keeps the call paths, which callgrind cannot express',
    instead:
      'Use --format pprof. To convert the file for KCachegrind, run: go tool pprof -callgrind -output=p.callgrind <file>.',
  },
  {
    option: '--format',
    value: 'firefox',
    commands: ['export'],
    why: 'a tree has no time axis, which is what the Firefox Profiler is for',
    instead:
      'Use --format speedscope for the tree as a flame graph; for calls over time record with --trace and use --format trace-events, which the Firefox Profiler opens.',
  },
  {
    option: '--stream',
    commands: ['record'],
    why: 'other programs follow a recording with the library, or read its profile',
    instead:
      'Use the library (examples/04-library) in a Node.js program; elsewhere read shorter recordings with jfluid report --json.',
  },
  {
    option: '--push-name',
    commands: ['record', 'push'],
    why: 'the name of a service is now a label of the profile',
    instead: 'Use --label service_name=<service> instead.',
  },
  {
    option: '--shape',
    commands: ['compare'],
    why: 'the line "agreement" of jfluid compare shows how much two trees agree',
    instead: 'Leave the option out, and compare two profiles of the same --mode.',
  },
  {
    option: '--output',
    commands: ['run'],
    why: 'the output of a program under the live view is always written to a file',
    instead:
      'Leave the option out: the output is in jfluid-run-<pid>.log in the current directory. Or use --record, and > file in the shell.',
  },
]

/** Help group of hidden options. Help orders the groups by their first options, so hidden options must be in the first group. */
const FIRST_GROUP = `${GROUPS[0]}:`

export class OptionRemoved extends UsageError {
  static sample = () => new OptionRemoved(REMOVED_OPTIONS[0]!)
  readonly hint: string
  constructor({ option, value, why, instead }: RemovedOption) {
    super(`${value === undefined ? option : `${option} ${value}`} was removed: ${why}`)
    this.hint = instead
  }
}

/** `jfluid roots` was removed. */
export class RootsRemoved extends UsageError {
  static sample = () => new RootsRemoved()
  readonly hint =
    'Use jfluid why <pid>: it lists the same methods below its answer. Its --duration, --top and --json are those of roots.'
  constructor() {
    super('the command roots was removed: jfluid why also says what the time is spent on')
  }
}

/**
 * Makes a command refuse removed options. Called before the current options are added, so that a removed value is
 * reported as removed, and not as invalid.
 */
export function withRemovedOptions(command: Command, removed: readonly RemovedOption[]): Command {
  for (const row of removed) {
    // A value is accepted but not required, since some removed options had a value and some had none.
    if (row.value === undefined)
      command.addOption(new Option(`${row.option} [value]`).hideHelp().helpGroup(FIRST_GROUP))
    command.on(`option:${row.option.slice(2)}`, (value: unknown) => {
      if (row.value === undefined || row.value === `${value}`.toLowerCase()) throw new OptionRemoved(row)
    })
  }
  return command
}

/** Returns the removed options of a command. */
export function removedFrom(name: CommandName): readonly RemovedOption[] {
  return REMOVED_OPTIONS.filter(({ commands = SESSION }) => commands.includes(name))
}

/**
 * Refuses removed options given to the library. Their names are in camel case.
 *
 * @throws OptionRemoved
 */
export function checkRemovedOptions(options: object, removed = removedFrom('session')): void {
  for (const row of removed) {
    const given: unknown = Reflect.get(options, new Option(row.option).attributeName())
    if (given !== undefined && (row.value === undefined || row.value === given)) throw new OptionRemoved(row)
  }
}
