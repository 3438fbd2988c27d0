// What does not go together, by the table of options.

import { EX_USAGE, JfluidError } from '../base/errors.ts'
import type { SchemeChoice } from '../base/scheme.ts'
import type { Mode } from '../profile/profile.ts'
import { attributeOf, longOf, type Refusal, type Row } from './option.ts'
import { OPTIONS, optionsOf, type SessionFlags } from './table.ts'

/** Options that exclude each other, or need one that is not there. */
export class OptionRefused extends JfluidError {
  readonly exitCode = EX_USAGE
  readonly hint: string
  constructor({ says, hint }: Refusal) {
    super(says)
    this.hint = hint
  }
}

type Given = Readonly<Record<string, unknown>>

const LEAVE_ONE_OUT = 'Leave one of the two out.'
const ONE_BY_ONE = 'Leave it out, or record each JVM by itself: jfluid record <pid>'

function isGiven(row: Row, given: Given): boolean {
  const value = given[attributeOf(row)]
  return value !== undefined && value !== false && value !== row.default
}

/** Of each option by itself, beside the others that are given. */
function refusalOf(row: Row, given: Given): Refusal | null {
  const { needs } = row
  if (needs?.oneOf.every((it) => given[it] === undefined)) return needs
  for (const [other, why] of Object.entries(row.excludes ?? {})) {
    if (given[other] === undefined || given[other] === false) continue
    if (typeof why !== 'string') return why
    const long = longOf(OPTIONS.find((it) => attributeOf(it) === other)!)
    return { says: `${longOf(row)} does not go with ${long}: ${why}`, hint: LEAVE_ONE_OUT }
  }
  return null
}

/** What depends on the mode and the scheme, where instrumented methods are measured. */
function refusalByMode(row: Row, given: Given): Refusal | null {
  const mode = (given.mode ?? 'exact') as Mode
  const scheme = (given.scheme ?? 'auto') as SchemeChoice
  const { modes, schemes } = row
  if (modes !== undefined && !modes.takes.includes(mode)) return { says: modes.says(mode), hint: modes.hint }
  if (schemes !== undefined && !schemes.takes.includes(scheme))
    return { says: schemes.says(scheme), hint: schemes.hint }
  return row.refuses?.(given[attributeOf(row)], mode) ?? null
}

/**
 * @param rows   that are looked at
 * @param rules  what may be in the way of one that is given
 * @throws OptionRefused, the first in the order of the table
 */
function refuse(
  rows: readonly Row[],
  given: Given,
  ...rules: readonly ((row: Row, given: Given) => Refusal | null)[]
): void {
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
export function checkOwnOptions(command: Parameters<typeof optionsOf>[0], flags: object): void {
  const own = optionsOf(command).filter((it) => !it.commands.includes('session'))
  refuse(own, flags as Given, refusalOf)
}

/** How samples are taken: whoever wants some may need no root, so this is told before that there is none. @throws OptionRefused */
export function checkSampled(flags: SessionFlags): void {
  const rows = optionsOf('session').filter(({ modes }) => modes?.takes.join() === 'sample')
  refuse(rows, flags as unknown as Given, refusalByMode)
}

/** What of a session's options does not go together below a root. @throws OptionRefused */
export function checkCalls(flags: SessionFlags): void {
  refuse(optionsOf('session'), flags as unknown as Given, refusalByMode, refusalOf)
}

/** With --region: says all at once that have no meaning. @throws OptionRefused */
export function checkRegion(flags: SessionFlags): void {
  const wrong = misplaced('withRegion', flags)
  if (wrong.length === 0) return
  throw new OptionRefused({
    says: `--region does not go with ${wrong.join(', ')}`,
    hint: 'Leave them out, or take --root instead: a region is timed as a whole, and nothing that it calls.',
  })
}

/** With samples by time. @throws OptionRefused */
export function checkSampledByJvm(flags: SessionFlags): void {
  const [first] = misplaced('withSamples', flags)
  if (first === undefined) return
  const hasRoot = (flags.root ?? []).length > 0
  throw new OptionRefused({
    says: `${first} is for instrumented methods, and ${hasRoot ? 'samples by time need none' : 'without --root none is instrumented'}`,
    hint: hasRoot
      ? 'Leave it out, or sample by bytecodes (--every 10000bc), or take another --mode.'
      : 'Name a root (--root), or leave the option out.',
  })
}

/** As they are typed, with their values where it depends on these. */
function misplaced(kind: 'withRegion' | 'withSamples', flags: SessionFlags): string[] {
  const given = flags as unknown as Given
  return optionsOf('session').flatMap((row) => {
    const { [kind]: goes } = row
    if (goes === true || !isGiven(row, given)) return []
    const value = String(given[attributeOf(row)])
    if (goes === undefined) return [longOf(row)]
    return goes.includes(value) ? [] : [`${longOf(row)} ${value}`]
  })
}

/** With --all. @throws OptionRefused */
export function checkTogether(command: 'attach' | 'record', flags: object): void {
  refuse(optionsOf(command), flags as Given, (row) => {
    const { notWithAll } = row
    if (notWithAll === undefined) return null
    const { why, instead } =
      typeof notWithAll === 'string' ? { why: notWithAll, instead: ONE_BY_ONE } : notWithAll
    return { says: `--all does not go with ${longOf(row)}: ${why}`, hint: instead }
  })
}
