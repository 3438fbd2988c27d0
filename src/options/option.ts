// Declaration of an option, and the types derived from it.

import type { SchemeChoice } from '../base/scheme.ts'
import type { Mode } from '../profile/profile.ts'
import type { Value } from './value.ts'

/** Headings in the output of `--help`, in display order. The option --help is under the last heading. */
export const GROUPS = [
  'Which JVM',
  'What to profile',
  'What to measure',
  'How to measure',
  'What to keep',
  'Output',
  'Options',
] as const
type Group = (typeof GROUPS)[number]

export const COMMANDS = [
  ...(['ps', 'doctor', 'why', 'threads', 'attach', 'record', 'proxy', 'detach', 'run'] as const),
  ...([
    'gate',
    'open',
    'compare',
    'report',
    'export',
    'push',
    'mcp',
    'agent-path',
    'completion',
    'man',
  ] as const),
] as const

/** `session` stands for the session options shared by attach, record, run, the library and the proxy. */
export type CommandName = (typeof COMMANDS)[number] | 'session'
export const SESSION = ['session', 'attach', 'record', 'run'] as const

/** Error text for a refused option. */
export interface Refusal {
  readonly says: string
  /** Advice to the user: one sentence. */
  readonly hint: string
}

/** Reason why an option is refused in a configuration file, whose directory may come from an untrusted source. */
type NotInFile =
  | 'runs code'
  | 'writes a file'
  | 'sends data'
  | 'names a key'
  | 'gives consent'
  | 'sets the limit of the test'
  | 'is of one profile'
  | 'controls the use of this file'

export interface Row {
  /** Syntax on the command line: `-r, --root <method>`. */
  readonly name: string
  readonly group: Group
  readonly help: string
  readonly commands: readonly CommandName[]

  /** Parser of the value. If absent, any text is accepted. */
  readonly value?: Value<unknown>
  readonly default?: string | number
  /** Default in the syntax of the command line, if `default` has another form or if the code that reads the option applies the default. */
  readonly defaultText?: string
  readonly isRepeatable?: true
  readonly isRequired?: true
  readonly isHidden?: true
  /** Kind of names that shell completion offers in addition to the choices of the value. */
  readonly offers?: 'file' | 'jar' | 'format'

  /** The parsed value is copied unchanged into the session request. */
  readonly passes?: true
  /** Default values of other options, set when this option is given. */
  readonly implies?: Readonly<Record<string, unknown>>
  /** Modes that accept this option. */
  readonly modes?: { readonly takes: readonly Mode[]; says(mode: Mode): string; readonly hint: string }
  /** Schemes that accept this option. */
  readonly schemes?: {
    readonly takes: readonly SchemeChoice[]
    says(scheme: SchemeChoice): string
    readonly hint: string
  }
  /** Options that conflict with this option, each with the reason or the complete refusal. */
  readonly excludes?: Readonly<Record<string, string | Refusal>>
  /** Options of which at least one must be given together with this option. */
  readonly needs?: { readonly oneOf: readonly string[] } & Refusal
  /** Returns the refusal of this value, or null if the value is accepted. */
  refuses?(value: unknown, mode: Mode): Refusal | null
  /** Values of a session option that are allowed with --region (which records no calls): `true` for all values. */
  readonly withRegion?: true | readonly string[]
  /** Values of a session option that are allowed with sampling by time (which instruments nothing): `true` for all values. */
  readonly withSamples?: true | readonly string[]
  /** Reason why the option conflicts with --all. `instead` is the advice, if it is not "record each JVM by itself". */
  readonly notWithAll?: string | { readonly why: string; readonly instead: string }
  /** Values of the option that need every call below a root, which scheme adaptive does not record. `true` for all values. */
  readonly needsAllCalls?: true | readonly string[]
  /** Refusal together with sampling by time, for options that only some commands have. Session options use `withSamples`. */
  readonly notSampled?: Refusal
  readonly notInFile?: NotInFile
  /** Commands that refuse the option for a JVM on another machine; `true` for all commands. */
  readonly isOfThisMachine?: true | readonly CommandName[]
  /** Values that are accepted despite `notInFile` and `isOfThisMachine`. */
  readonly harmless?: readonly string[]
}

type Named = Pick<Row, 'name'>
type Camel<S extends string> = S extends `${infer A}-${infer B}` ? `${A}${Capitalize<Camel<B>>}` : S
type Long<N extends string> = N extends `${string}--no-${infer L}`
  ? L
  : N extends `${string}--${infer L}`
    ? L
    : never
type Word<L extends string> = L extends `${infer W} ${string}` ? W : L
/** Property name of an option: `-r, --max-contexts <n>` becomes maxContexts. */
export type Attribute<R extends Named> = Camel<Word<Long<R['name']>>>

type One<R extends Named> = R extends { readonly value: Value<infer T> }
  ? T
  : R['name'] extends `${string}<${string}`
    ? string
    : boolean
/** Type of the parsed value of an option. */
export type Read<R extends Named> = R extends { readonly isRepeatable: true } ? readonly One<R>[] : One<R>

type Of<R extends Row, C extends CommandName> = R extends Row
  ? C extends R['commands'][number]
    ? R
    : never
  : never
type Always = { readonly default: unknown } | { readonly isRequired: true }

/** Type of all options of a command, keyed by property name. */
export type FlagsOf<R extends Row, C extends CommandName> = {
  readonly [I in Extract<Of<R, C>, Always> as Attribute<I>]: Read<I>
} & { readonly [I in Exclude<Of<R, C>, Always> as Attribute<I>]?: Read<I> }

/** Type of the options that are copied into the session request. */
export type PassedOf<R extends Row> = {
  readonly [I in Extract<R, { readonly passes: true }> as Attribute<I>]?: Read<I>
}

/** Returns its argument with a type that keeps the literals. */
export function option<const R extends Omit<Row, 'group'>>(row: R): R {
  return row
}

/** Adds the group (a heading of `--help`) to each option. */
export function inGroup<const R extends readonly Omit<Row, 'group'>[]>(
  group: Group,
  rows: R,
): { readonly [I in keyof R]: R[I] & { readonly group: Group } } {
  return rows.map((row) => ({ ...row, group })) as never
}

/** Returns the long name: `--max-contexts`. */
export function longOf({ name }: Row): string {
  return /--[a-z\d-]+/.exec(name)![0]
}

/** Returns the property name: `maxContexts`. */
export function attributeOf(row: Row): string {
  return longOf(row)
    .replace(/^--(?:no-)?/, '')
    .replace(/-(.)/g, (_, letter: string) => letter.toUpperCase())
}

/** Returns the short name, such as `-r`; undefined if the option has no short name. */
export function shortOf({ name }: Row): string | undefined {
  return /^-\w/.exec(name)?.[0]
}

/** Returns the description for help, completion and the manual page. */
export function helpOf({ help, isRepeatable }: Row): string {
  return isRepeatable ? `${help}; repeatable` : help
}

/** Returns the text of the default; undefined if the option has no default. */
export function defaultOf({ default: value, defaultText }: Row): string | undefined {
  return defaultText ?? value?.toString()
}

/** Returns the name of the argument, such as `<n>`; undefined for a flag. */
export function argumentOf({ name }: Row): string | undefined {
  return /<.*$/.exec(name)?.[0]
}
