// jfluid compare: shows changes between two profiles, per root call. In a build, the command can fail if a change is too large.

import { EX_DATAERR, EX_REGRESSION, JfluidError } from '../base/errors.ts'
import { shellWord } from '../base/shell-word.ts'
import { metricOf } from '../cct/metric.ts'
import { comparePage } from '../export/html/compare-page.ts'
import { pagePieces } from '../export/html/page.ts'
import { html } from '../export/html/profile-page.ts'
import { METRICS } from '../measures/columns.ts'
import type { Flags } from '../options/table.ts'
import { changesOf } from '../profile/changes.ts'
import { changesJsonPieces } from '../profile/changes-json.ts'
import { type Compared, changesPieces, verdictText } from '../profile/changes-text.ts'
import { measureText } from '../profile/comparable.ts'
import { rootCalls } from '../profile/compare.ts'
import { judge, parseCondition } from '../profile/condition.ts'
import { closeMethods } from '../profile/find-method.ts'
import { type Profile, rootTotal } from '../profile/profile.ts'
import { terminalOptions } from '../profile/report/page.ts'
import { plural } from '../profile/text.ts'
import { writePieces } from '../profile/write.ts'
import { exportUnlessStopped } from './export.ts'
import { readWithProgress } from './read.ts'

/** The two profiles have no common metric. */
export class DifferentMetrics extends JfluidError {
  static sample = () => new DifferentMetrics('before.jfluid holds time', 'after.jfluid holds bytecodes')
  readonly exitCode = EX_DATAERR
  readonly hint = 'Compare two profiles of the same --mode.'
  constructor(before: string, after: string) {
    super(`${before} and ${after}: their costs cannot be compared`)
  }
}

/** A profile without a root call, or without a tree. */
export class NothingInProfile extends JfluidError {
  static sample = () => [new NothingInProfile('app.jfluid', false), new NothingInProfile('app.jfluid', true)]
  readonly exitCode = EX_DATAERR
  readonly hint: string
  constructor(path: string, isRegions: boolean) {
    super(
      isRegions
        ? `nothing to compare: ${path} contains times of regions, and no tree`
        : `nothing to compare: ${path} contains no call of a root`,
    )
    this.hint = isRegions
      ? `Read the profile with: jfluid report ${shellWord(path)}`
      : 'Record again while the program calls the root.'
  }
}

/** A `--fail-if` condition is true. */
export class ChangedTooMuch extends JfluidError {
  static sample = () => new ChangedTooMuch('root total > 5ms', 'root total 4.1 ms → 6.2 ms', 0)
  readonly exitCode = EX_REGRESSION
  readonly hint =
    'Find the cause in the contexts above. If the change is intended, use the new profile as the first one from now on.'
  constructor(condition: string, verdict: string, others: number) {
    super(`'${condition}' holds: ${verdict}${others > 0 ? `, and ${plural(others, 'more condition')}` : ''}`)
  }
}

const holds = ({ path, profile }: Compared): string => `${path} contains ${measureText(profile)}`

/**
 * @throws CannotReadProfile and similar errors, DifferentMetrics, NothingInProfile, BadCondition, NoSuchMethod, CannotWriteExport,
 * ChangedTooMuch
 */
export async function compare(beforePath: string, afterPath: string, flags: Flags<'compare'>): Promise<void> {
  const before = { path: beforePath, profile: await readComparable(beforePath) }
  const after = { path: afterPath, profile: await readComparable(afterPath) }
  const options = { callSites: flags.callSites !== false }
  const metric = metricOf(before.profile.merged)
  if (metric !== metricOf(after.profile.merged)) throw new DifferentMetrics(holds(before), holds(after))
  const conditions = (flags.failIf ?? []).map((text) => parseCondition(text, metric))
  const changes = changesOf(before.profile, after.profile, options)
  const names = [...before.profile.methodNames, ...after.profile.methodNames]
  const verdicts = conditions.flatMap((it) => judge(it, changes, (subject) => closeMethods(subject, names)))
  const failed = verdicts.filter((it) => it.failed)
  // The status is set before the output: if the reader closes the pipe early, the process ends with this status.
  if (failed.length > 0) process.exitCode = EX_REGRESSION
  if (flags.html !== undefined) {
    const pieces = () => pagePieces(comparePage(before, after, changes, verdicts))
    if (!(await exportUnlessStopped(after.profile, { ...html, pieces }, flags.html, {}))) return
  }
  const pieces =
    flags.json === true
      ? changesJsonPieces(before, after, changes, verdicts, flags.top)
      : changesPieces(before, after, changes, verdicts, {
          ...terminalOptions(process.stdout),
          top: flags.top,
        })
  await writePieces(process.stdout, pieces)
  const [first, ...others] = failed
  if (first !== undefined)
    throw new ChangedTooMuch(first.condition.text, verdictText(first, changes), others.length)
}

async function readComparable(path: string): Promise<Profile> {
  const profile = await readWithProgress(path)
  const { isSampled } = METRICS[profile.mode]
  if (isSampled ? rootTotal(profile.merged) <= 0 : rootCalls(profile) <= 0)
    throw new NothingInProfile(path, profile.regions !== undefined)
  return profile
}
