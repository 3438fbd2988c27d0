// All options that there are, each declared once: what the parser, the help, completion, the manual page, the configuration file, the
// refusals and a proxy know of one is read from here.

import { HOW_EXACTLY } from './how-exactly.ts'
import { OF_ITSELF } from './of-itself.ts'
import { attributeOf, type CommandName, type FlagsOf, longOf, type PassedOf, type Row } from './option.ts'
import { WHAT_TO_KEEP } from './what-to-keep.ts'
import { WHAT_TO_MEASURE } from './what-to-measure.ts'
import { WHAT_TO_PROFILE } from './what-to-profile.ts'
import { WHERE_TO } from './where-to.ts'
import { WHICH_JVM } from './which-jvm.ts'

const ALL = [
  ...WHICH_JVM,
  ...WHAT_TO_PROFILE,
  ...WHAT_TO_MEASURE,
  ...HOW_EXACTLY,
  ...WHAT_TO_KEEP,
  ...WHERE_TO,
  ...OF_ITSELF,
] as const

type Declared = (typeof ALL)[number]

/** One name may have several rows, of different commands. */
export const OPTIONS: readonly Row[] = ALL

/** What a command is given. */
export type Flags<C extends CommandName> = FlagsOf<Declared, C>
/** As the library and a proxy are given them: what is not there is the default. */
export type SessionFlags = Partial<Flags<'session'>>

/** Options that are in the request of a session as they are. */
export type Passed = PassedOf<Declared>

export function optionsOf(command: CommandName): readonly Row[] {
  return OPTIONS.filter((it) => it.commands.includes(command))
}

/** What of a session's options goes into its request as it is, and what that implies. */
export function passedOf(flags: SessionFlags): Passed {
  const given: Readonly<Record<string, unknown>> = flags
  const passed: Record<string, unknown> = {}
  for (const row of optionsOf('session')) {
    const attribute = attributeOf(row)
    const value = given[attribute] ?? row.default
    if (value === undefined || value === false) continue
    for (const [other, implied] of Object.entries(row.implies ?? {})) passed[other] = given[other] ?? implied
    if (row.passes) passed[attribute] = value
  }
  return passed
}

/** @returns the option of a request that needs the calls of all methods, as it is typed; null if none does */
export function allCallsNeeded(passed: Passed): string | null {
  const given: Readonly<Record<string, unknown>> = passed
  const row = OPTIONS.find((it) => it.needsAllCalls && (given[attributeOf(it)] ?? false) !== false)
  return row === undefined ? null : longOf(row)
}
