// What is declared of an option, and the types that follow from it.

import type { SchemeChoice } from '../base/scheme.ts'
import type { Mode } from '../profile/profile.ts'
import type { Value } from './value.ts'

/** Headings of `--help`, in this order. The last has --help itself. */
export const GROUPS = [
  'Which JVM',
  'What to profile',
  'What to measure',
  'How exactly',
  'What to keep',
  'Where to',
  'Options',
] as const
type Group = (typeof GROUPS)[number]

export const COMMANDS = [
  ...(['ps', 'doctor', 'roots', 'attach', 'record', 'proxy', 'detach', 'run'] as const),
  ...(['gate', 'open', 'compare', 'report', 'export', 'push', 'agent-path', 'completion', 'man'] as const),
] as const

/** `session` is what attach, record and run ask of a session, which the library and a proxy take as well. */
export type CommandName = (typeof COMMANDS)[number] | 'session'
export const SESSION = ['session', 'attach', 'record', 'run'] as const

/** The error text for two options that exclude each other. */
export interface Refusal {
  readonly says: string
  /** What to do now: a sentence. */
  readonly hint: string
}

/** Why an option is taken from a command line only: a configuration file lies in a directory that may have come from anywhere. */
type NotInFile =
  | 'runs code'
  | 'writes a file'
  | 'sends data'
  | 'names a key'
  | 'gives consent'
  | 'decides what passes'
  | 'is of one profile'

export interface Row {
  /** As it is typed: `-r, --root <method>`. */
  readonly name: string
  readonly group: Group
  readonly help: string
  readonly commands: readonly CommandName[]

  /** Text of any kind where there is none. */
  readonly value?: Value<unknown>
  readonly default?: string | number
  readonly isRepeatable?: true
  readonly isRequired?: true
  readonly isHidden?: true
  /** What a shell offers for it, beside the choices of its value. */
  readonly offers?: 'file' | 'jar' | 'format'

  /** Goes into the request of a session as it is. */
  readonly passes?: true
  /** Values of others where they are not given. */
  readonly implies?: Readonly<Record<string, unknown>>
  /** The modes that it is for. */
  readonly modes?: { readonly takes: readonly Mode[]; says(mode: Mode): string; readonly hint: string }
  /** The schemes that it is for. */
  readonly schemes?: {
    readonly takes: readonly SchemeChoice[]
    says(scheme: SchemeChoice): string
    readonly hint: string
  }
  /** Options that it does not go with: why, or the whole of what is told. */
  readonly excludes?: Readonly<Record<string, string | Refusal>>
  /** One of these must be there. */
  readonly needs?: { readonly oneOf: readonly string[] } & Refusal
  /** What depends on its value. */
  refuses?(value: unknown, mode: Mode): Refusal | null
  /** Of a session's: goes with a region, which is timed as a whole and in which no call is looked at; or values that do. */
  readonly withRegion?: true | readonly string[]
  /** Of a session's: goes with samples by time, for which nothing is instrumented; or values that do. */
  readonly withSamples?: true | readonly string[]
  /** Why it does not go with --all, and what to do if that is not to record each JVM by itself. */
  readonly notWithAll?: string | { readonly why: string; readonly instead: string }
  /** Below a root, it needs the calls of all methods, which scheme adaptive does not record. */
  readonly needsAllCalls?: true
  readonly notInFile?: NotInFile
  /** Not for a JVM on another machine. */
  readonly isOfThisMachine?: true
  /** Values of which neither of these two is so. */
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
/** `-r, --max-contexts <n>`: maxContexts. */
export type Attribute<R extends Named> = Camel<Word<Long<R['name']>>>

type One<R extends Named> = R extends { readonly value: Value<infer T> }
  ? T
  : R['name'] extends `${string}<${string}`
    ? string
    : boolean
/** What the code reads. */
export type Read<R extends Named> = R extends { readonly isRepeatable: true } ? readonly One<R>[] : One<R>

type Of<R extends Row, C extends CommandName> = R extends Row
  ? C extends R['commands'][number]
    ? R
    : never
  : never
type Always = { readonly default: unknown } | { readonly isRequired: true }

/** All options of a command by the names that the code has for them. */
export type FlagsOf<R extends Row, C extends CommandName> = {
  readonly [I in Extract<Of<R, C>, Always> as Attribute<I>]: Read<I>
} & { readonly [I in Exclude<Of<R, C>, Always> as Attribute<I>]?: Read<I> }

/** What goes into the request of a session. */
export type PassedOf<R extends Row> = {
  readonly [I in Extract<R, { readonly passes: true }> as Attribute<I>]?: Read<I>
}

/** Keeps the types of what is declared. */
export function option<const R extends Omit<Row, 'group'>>(row: R): R {
  return row
}

/** These under one heading of the help. */
export function inGroup<const R extends readonly Omit<Row, 'group'>[]>(
  group: Group,
  rows: R,
): { readonly [I in keyof R]: R[I] & { readonly group: Group } } {
  return rows.map((row) => ({ ...row, group })) as never
}

/** `--max-contexts`. */
export function longOf({ name }: Row): string {
  return /--[a-z-]+/.exec(name)![0]
}

/** `maxContexts`. */
export function attributeOf(row: Row): string {
  return longOf(row)
    .replace(/^--(?:no-)?/, '')
    .replace(/-(.)/g, (_, letter: string) => letter.toUpperCase())
}

/** `-r`; undefined where there is none. */
export function shortOf({ name }: Row): string | undefined {
  return /^-\w/.exec(name)?.[0]
}

/** What it is, as help, completion and the manual say it. */
export function helpOf({ help, isRepeatable }: Row): string {
  return isRepeatable ? `${help}; repeatable` : help
}

/** `<n>`; undefined where there is none. */
export function argumentOf({ name }: Row): string | undefined {
  return /<.*$/.exec(name)?.[0]
}
