// Checks for conflicting options, by the data in the option table.

import { UsageError } from '../base/errors.ts'
import type { SchemeChoice } from '../base/scheme.ts'
import type { Mode } from '../profile/profile.ts'
import { attributeOf, type CommandName, longOf, type Refusal, type Row } from './option.ts'
import { OPTIONS, optionsOf, type SessionFlags } from './table.ts'

/** Error for conflicting options, and for an option that needs another option. */
export class OptionRefused extends UsageError {
  static sample = () =>
    new OptionRefused({
      says: '--all cannot be combined with --jdwp: a debug port belongs to one JVM',
      hint: 'Leave one of the two out.',
    })
  readonly hint: string
  constructor({ says, hint }: Refusal) {
    super(says)
    this.hint = hint
  }
}

/** Option values, keyed by property name. */
export type Given = Readonly<Record<string, unknown>>
/** A check of one given option. Returns a refusal, or null if the option is allowed. */
type Rule = (row: Row, given: Given) => Refusal | null

const LEAVE_ONE_OUT = 'Leave one of the two out.'
const ONE_BY_ONE = 'Leave the option out, or record each JVM alone: jfluid record <pid>'

/** Returns whether an option has a value other than its default. Unset flags and empty lists do not count. */
export function isGiven(row: Row, given: Given): boolean {
  const value = given[attributeOf(row)]
  return isThere(value) && value !== row.default
}

function isThere(value: unknown): boolean {
  return value !== undefined && value !== false && !(Array.isArray(value) && value.length === 0)
}

/** Returns the row of the named option that has a command in common with this row. */
export function rowOf(attribute: string, { commands }: Row): Row {
  const row = commands.flatMap(optionsOf).find((it) => attributeOf(it) === attribute)
  if (row === undefined) throw new Error(`no option ${attribute} of ${commands}`)
  return row
}

/** Returns the refusal for an option that conflicts with the option `other`. */
export function exclusionOf(row: Row, other: string, why: string | Refusal): Refusal {
  if (typeof why !== 'string') return why
  const says = `${longOf(row)} cannot be combined with ${longOf(rowOf(other, row))}: ${why}`
  return { says, hint: LEAVE_ONE_OUT }
}

/** Returns the refusal of an option that conflicts with --all; null if the option is allowed. */
export function notWithAllOf(row: Row): Refusal | null {
  const { notWithAll } = row
  if (notWithAll === undefined) return null
  const { why, instead } =
    typeof notWithAll === 'string' ? { why: notWithAll, instead: ONE_BY_ONE } : notWithAll
  return { says: `--all cannot be combined with ${longOf(row)}: ${why}`, hint: instead }
}

export const byNeeds: Rule = ({ needs }, given) =>
  needs === undefined || needs.oneOf.some((it) => isThere(given[it])) ? null : needs

export const byExclusion: Rule = (row, given) => {
  const [other, why] = Object.entries(row.excludes ?? {}).find(([it]) => isThere(given[it])) ?? []
  return other === undefined || why === undefined ? null : exclusionOf(row, other, why)
}

/** Checks whether mode, scheme and value allow the option. Used if roots are instrumented. */
export const byModeSchemeAndValue: Rule = (row, given) => {
  const mode = (given.mode ?? 'exact') as Mode
  const scheme = (given.scheme ?? 'auto') as SchemeChoice
  const { modes, schemes } = row
  if (modes !== undefined && !modes.takes.includes(mode)) return { says: modes.says(mode), hint: modes.hint }
  if (schemes !== undefined && !schemes.takes.includes(scheme))
    return { says: schemes.says(scheme), hint: schemes.hint }
  return row.refuses?.(given[attributeOf(row)], mode) ?? null
}

/** Refuses an option that needs every call below a root if the given options require scheme adaptive. */
export const byAllCalls: Rule = (row, given) => {
  const text = neededOf(row, given)
  if (text === null || !isAdaptiveAsked(given)) return null
  return {
    says: `${text} needs the calls of all methods, and --scheme adaptive does not record these`,
    hint: 'Leave the option out, or use --scheme b.',
  }
}

/** Returns the text of an option that needs every call below a root; null if the option does not need every call. */
function neededOf(row: Row, given: Given): string | null {
  const { needsAllCalls } = row
  if (needsAllCalls === undefined || !isGiven(row, given)) return null
  if (needsAllCalls === true) return longOf(row)
  const value = `${given[attributeOf(row)]}`
  return needsAllCalls.includes(value) ? `${longOf(row)} ${value}` : null
}

/** Returns whether the options name scheme adaptive, or contain an option that only scheme adaptive supports. */
export function isAdaptiveAsked(given: Given): boolean {
  const isOfAdaptive = ({ schemes }: Row): boolean => schemes?.takes.includes('adaptive') === true
  return given.scheme === 'adaptive' || OPTIONS.some((it) => isOfAdaptive(it) && isGiven(it, given))
}

/** Returns the text of the first option that needs every call below a root; null if there is no such option. */
export function allCallsNeeded(given: Given): string | null {
  return OPTIONS.flatMap((it) => neededOf(it, given) ?? [])[0] ?? null
}

/** Checks whether a session option is allowed with --region. */
export const withRegion: Rule = (row, given) => {
  const shown = refusedAsTyped(row, row.withRegion, given)
  return shown === null ? null : regionRefusal([shown])
}

/** Checks whether an option is allowed with sampling by time. */
export const withSamples: Rule = (row, given) => {
  if (row.notSampled !== undefined) return row.notSampled
  const shown = refusedAsTyped(row, row.withSamples, given)
  if (shown === null) return null
  return isThere(given.root)
    ? {
        says: `${shown} cannot be combined with sampling by time, which instruments no methods`,
        hint: 'Leave the option out, or sample by bytecodes (--every 10000bc), or use another --mode.',
      }
    : {
        says: `${shown} needs --root, because without a root no method is instrumented`,
        hint: 'Name a root (--root), or leave the option out.',
      }
}

/** Returns the text of a refused option, with the value if other values are allowed; null if the option is allowed. */
function refusedAsTyped(row: Row, goes: true | readonly string[] | undefined, given: Given): string | null {
  if (goes === true || !row.commands.includes('session')) return null
  if (goes === undefined) return longOf(row)
  const value = String(given[attributeOf(row)])
  return goes.includes(value) ? null : `${longOf(row)} ${value}`
}

function regionRefusal(shown: readonly string[]): Refusal {
  return {
    says: `--region cannot be combined with ${shown.join(', ')}`,
    hint: 'Leave these options out, or use --root instead: a region is timed as a whole, without the methods that it calls.',
  }
}

/** Applies the rules to all given options, in the order of the table. @throws OptionRefused for the first refusal */
function refuse(rows: readonly Row[], given: Given, ...rules: readonly Rule[]): void {
  for (const row of rows) {
    if (!isGiven(row, given)) continue
    for (const rule of rules) {
      const refusal = rule(row, given)
      if (refusal !== null) throw new OptionRefused(refusal)
    }
  }
}

/**
 * Checks the options of a command that are no session options. `commandOptions` checks the session options.
 *
 * @throws OptionRefused
 */
export function checkOwnOptions(command: CommandName, flags: Given): void {
  refuse(ownOf(command), flags, byNeeds, byExclusion)
}

/** Returns the options of a command that are no session options. */
function ownOf(command: CommandName): readonly Row[] {
  return optionsOf(command).filter((it) => !it.commands.includes('session'))
}

/** Checks the sampling options. Called before the check for a missing root, since sampling may need no root. @throws OptionRefused */
export function checkSampled(flags: SessionFlags): void {
  const rows = optionsOf('session').filter(({ modes }) => modes?.takes.every((it) => it === 'sample'))
  refuse(rows, flags, byModeSchemeAndValue)
}

/** Checks the session options if roots are instrumented. @throws OptionRefused */
export function checkBelowRoot(flags: SessionFlags): void {
  refuse(optionsOf('session'), flags, byNeeds, byModeSchemeAndValue, byExclusion)
  refuse(optionsOf('session'), flags, byAllCalls)
}

/** Checks whether the options are allowed with --region. The error lists all refused options. @throws OptionRefused */
export function checkRegion(flags: SessionFlags): void {
  const given: Given = flags
  const rows = optionsOf('session').filter((it) => isGiven(it, given))
  const wrong = rows.flatMap((it) => refusedAsTyped(it, it.withRegion, given) ?? [])
  if (wrong.length > 0) throw new OptionRefused(regionRefusal(wrong))
}

/** Checks whether the options that only this command has are allowed with sampling by time. @throws OptionRefused */
export function checkNotSampled(command: CommandName, flags: Given): void {
  refuse(ownOf(command), flags, withSamples)
}

/** Checks whether the session options are allowed with sampling by time. @throws OptionRefused */
export function checkSampledByJvm(flags: SessionFlags): void {
  refuse(optionsOf('session'), flags, withSamples)
}

/** Checks whether the options are allowed with --all. @throws OptionRefused */
export function checkTogether(command: 'attach' | 'record', flags: Given): void {
  refuse(optionsOf(command), flags, byNeeds, notWithAllOf)
}

/** Returns the first given session option whose results cannot be added up for several JVMs, with the reason; null if there is none. */
export function notSummed(flags: SessionFlags): { readonly option: string; readonly why: string } | null {
  const row = optionsOf('session').find((it) => it.notWithAll !== undefined && isGiven(it, flags))
  if (row?.notWithAll === undefined) return null
  return {
    option: longOf(row),
    why: typeof row.notWithAll === 'string' ? row.notWithAll : row.notWithAll.why,
  }
}
