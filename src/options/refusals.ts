// What does not go together, by the table of options.

import { UsageError } from '../base/errors.ts'
import type { SchemeChoice } from '../base/scheme.ts'
import type { Mode } from '../profile/profile.ts'
import { attributeOf, type CommandName, longOf, type Refusal, type Row } from './option.ts'
import { optionsOf, type SessionFlags } from './table.ts'

/** Options that exclude each other, or need one that is not there. */
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

/** Options by attribute. */
export type Given = Readonly<Record<string, unknown>>
/** @returns what is in the way of an option that is given; null if nothing is */
type Rule = (row: Row, given: Given) => Refusal | null

const LEAVE_ONE_OUT = 'Leave one of the two out.'
const ONE_BY_ONE = 'Leave the option out, or record each JVM alone: jfluid record <pid>'

/** Whether a value says something: a flag that is off, an empty list and a default do not. */
export function isGiven(row: Row, given: Given): boolean {
  const value = given[attributeOf(row)]
  return isThere(value) && value !== row.default
}

function isThere(value: unknown): boolean {
  return value !== undefined && value !== false && !(Array.isArray(value) && value.length === 0)
}

/** The other option as the commands of this one have it. */
export function rowOf(attribute: string, { commands }: Row): Row {
  const row = commands.flatMap(optionsOf).find((it) => attributeOf(it) === attribute)
  if (row === undefined) throw new Error(`no option ${attribute} of ${commands}`)
  return row
}

/** What is told of an option and another one that it excludes. */
export function exclusionOf(row: Row, other: string, why: string | Refusal): Refusal {
  if (typeof why !== 'string') return why
  const says = `${longOf(row)} cannot be combined with ${longOf(rowOf(other, row))}: ${why}`
  return { says, hint: LEAVE_ONE_OUT }
}

/** What is told of an option and --all. */
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

/** Where instrumented methods are measured. */
export const byModeSchemeAndValue: Rule = (row, given) => {
  const mode = (given.mode ?? 'exact') as Mode
  const scheme = (given.scheme ?? 'auto') as SchemeChoice
  const { modes, schemes } = row
  if (modes !== undefined && !modes.takes.includes(mode)) return { says: modes.says(mode), hint: modes.hint }
  if (schemes !== undefined && !schemes.takes.includes(scheme))
    return { says: schemes.says(scheme), hint: schemes.hint }
  return row.refuses?.(given[attributeOf(row)], mode) ?? null
}

export const withAll: Rule = (row) => notWithAllOf(row)

/** Of a session's options, with --region. */
export const withRegion: Rule = (row, given) => {
  const shown = misplaced(row, row.withRegion, given)
  return shown === null ? null : regionRefusal([shown])
}

/** Of a session's options, with samples by time. */
export const withSamples: Rule = (row, given) => {
  const shown = misplaced(row, row.withSamples, given)
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

/** @returns the option as it is typed, with its value where it depends on that; null where it goes */
function misplaced(row: Row, goes: true | readonly string[] | undefined, given: Given): string | null {
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

/** @throws OptionRefused, the first in the order of the table */
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
 * What of a command's own options does not go together. What of a session's does not is asked by `commandOptions`.
 *
 * @throws OptionRefused
 */
export function checkOwnOptions(command: CommandName, flags: Given): void {
  const own = optionsOf(command).filter((it) => !it.commands.includes('session'))
  refuse(own, flags, byNeeds, byExclusion)
}

/** How samples are taken: whoever wants some may need no root, so this is told before that there is none. @throws OptionRefused */
export function checkSampled(flags: SessionFlags): void {
  const rows = optionsOf('session').filter(({ modes }) => modes?.takes.every((it) => it === 'sample'))
  refuse(rows, flags, byModeSchemeAndValue)
}

/** What of a session's options does not go together below a root. @throws OptionRefused */
export function checkBelowRoot(flags: SessionFlags): void {
  refuse(optionsOf('session'), flags, byModeSchemeAndValue, byExclusion)
}

/** With --region: says all at once that have no meaning. @throws OptionRefused */
export function checkRegion(flags: SessionFlags): void {
  const given: Given = flags
  const rows = optionsOf('session').filter((it) => isGiven(it, given))
  const wrong = rows.flatMap((it) => misplaced(it, it.withRegion, given) ?? [])
  if (wrong.length > 0) throw new OptionRefused(regionRefusal(wrong))
}

/** With samples by time. @throws OptionRefused */
export function checkSampledByJvm(flags: SessionFlags): void {
  refuse(optionsOf('session'), flags, withSamples)
}

/** With --all. @throws OptionRefused */
export function checkTogether(command: 'attach' | 'record', flags: Given): void {
  refuse(optionsOf(command), flags, byNeeds, withAll)
}
