// Declaration of an option, and the types derived from it.

import type { SchemeChoice } from '../base/scheme.ts'
import type { Mode } from '../profile/profile.ts'
import type { Value } from './value.ts'

/** Headings of `--help`, in display order. --help itself is under the last heading. */
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
  ...(['ps', 'doctor', 'roots', 'attach', 'record', 'proxy', 'detach', 'run'] as const),
  ...(['gate', 'open', 'compare', 'report', 'export', 'push', 'agent-path', 'completion', 'man'] as const),
] as const

/** `session` stands for the session options shared by attach, record, run, the library and the proxy. */
export type CommandName = (typeof COMMANDS)[number] | 'session'
export const SESSION = ['session', 'attach', 'record', 'run'] as const

/** The error text for two options that exclude each other. */
export interface Refusal {
  readonly says: string
  /** Advice to the user: one sentence. */
  readonly hint: string
}

/** Reason why an option is refused in a configuration file. The directory of such a file may come from an untrusted source. */
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

  /** Parser of the value. Without it, any text is accepted. */
  readonly value?: Value<unknown>
  readonly default?: string | number
  /** Default in the syntax of the command line, if `default` differs or is applied by the code that reads the option. */
  readonly defaultText?: string
  readonly isRepeatable?: true
  readonly isRequired?: true
  readonly isHidden?: true
  /** Kind of completion that a shell offers, besides the choices of the value. */
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
  /** At least one of these options must be given. */
  readonly needs?: { readonly oneOf: readonly string[] } & Refusal
  /** Returns a refusal that depends on the value, or null. */
  refuses?(value: unknown, mode: Mode): Refusal | null
  /** Session option that is allowed with --region (which records no calls): all values, or the listed values. */
  readonly withRegion?: true | readonly string[]
  /** Session option that is allowed with sampling by time (without instrumentation): all values, or the listed values. */
  readonly withSamples?: true | readonly string[]
  /** Reason why the option conflicts with --all, and the advice, unless the advice is "record each JVM by itself". */
  readonly notWithAll?: string | { readonly why: string; readonly instead: string }
  /** The option, or these values of it, need every call below a root. Scheme adaptive does not record every call. */
  readonly needsAllCalls?: true | readonly string[]
  /** Refusal with sampling by time. For options of a command; session options use `withSamples`. */
  readonly notSampled?: Refusal
  readonly notInFile?: NotInFile
  /** The option is refused for a JVM on another machine, by all commands or by these. */
  readonly isOfThisMachine?: true | readonly CommandName[]
  /** Values that `notInFile` and `isOfThisMachine` do not restrict. */
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
/** Type of the parsed value. */
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

/** Returns its argument, with literal types. */
export function option<const R extends Omit<Row, 'group'>>(row: R): R {
  return row
}

/** Returns the options with the group (a heading of `--help`) added. */
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

/** Returns the short name, such as `-r`, or undefined. */
export function shortOf({ name }: Row): string | undefined {
  return /^-\w/.exec(name)?.[0]
}

/** Returns the description for help, completion and the manual page. */
export function helpOf({ help, isRepeatable }: Row): string {
  return isRepeatable ? `${help}; repeatable` : help
}

/** Returns the text of the default, or undefined. */
export function defaultOf({ default: value, defaultText }: Row): string | undefined {
  return defaultText ?? value?.toString()
}

/** Returns the argument, such as `<n>`, or undefined. */
export function argumentOf({ name }: Row): string | undefined {
  return /<.*$/.exec(name)?.[0]
}
