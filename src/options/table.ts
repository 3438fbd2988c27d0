// Table of all options. Parser, help, completion, manual page, configuration file, refusals and proxy read the options
// from this table.

import { HOW_EXACTLY } from './how-exactly.ts'
import { OF_ITSELF } from './of-itself.ts'
import { attributeOf, type CommandName, type FlagsOf, type PassedOf, type Row } from './option.ts'
import { WHAT_TO_KEEP } from './what-to-keep.ts'
import { WHAT_TO_MEASURE } from './what-to-measure.ts'
import { WHAT_TO_PROFILE } from './what-to-profile.ts'
import { WHERE_TO } from './where-to.ts'
import { WHICH_JVM } from './which-jvm.ts'
import { WHICH_PART } from './which-part.ts'

const ALL = [
  ...WHICH_JVM,
  ...WHAT_TO_PROFILE,
  ...WHAT_TO_MEASURE,
  ...HOW_EXACTLY,
  ...WHAT_TO_KEEP,
  ...WHICH_PART,
  ...WHERE_TO,
  ...OF_ITSELF,
] as const

type Declared = (typeof ALL)[number]

/** All options. One name may have several rows, for different commands. */
export const OPTIONS: readonly Row[] = ALL

/** Type of the parsed options of a command. */
export type Flags<C extends CommandName> = FlagsOf<Declared, C>
/** Session options as passed to the library and the proxy. Missing options have their defaults. */
export type SessionFlags = Partial<Flags<'session'>>

/** Options that are copied unchanged into the session request. */
export type Passed = PassedOf<Declared>

export function optionsOf(command: CommandName): readonly Row[] {
  return OPTIONS.filter((it) => it.commands.includes(command))
}

/** Returns the session options that are copied into the request, with the values that they imply. */
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
