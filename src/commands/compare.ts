// jfluid compare: shows changes between two profiles, per root call. In a build, the command can fail if a change is too large.

import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { EX_DATAERR, EX_REGRESSION, EX_USAGE, JfluidError } from '../base/errors.ts'
import { shellWord } from '../base/shell-word.ts'
import { metricOf } from '../cct/metric.ts'
import { changesMarkdown } from '../export/compare-markdown.ts'
import { comparePage } from '../export/html/compare-page.ts'
import { pagePieces } from '../export/html/page.ts'
import { html } from '../export/html/profile-page.ts'
import { METRICS } from '../measures/columns.ts'
import type { Flags } from '../options/table.ts'
import { type Changes, changesOf } from '../profile/changes.ts'
import { changesJsonPieces } from '../profile/changes-json.ts'
import { type Compared, changesPieces, type Recording, verdictText } from '../profile/changes-text.ts'
import { measureText } from '../profile/comparable.ts'
import { rootCalls } from '../profile/compare.ts'
import { judge, parseCondition, type Verdict } from '../profile/condition.ts'
import { segmentsOf, withMatchingNames } from '../profile/parts.ts'
import { type Profile, rootTotal } from '../profile/profile.ts'
import { ofRange } from '../profile/range.ts'
import { terminalOptions } from '../profile/report/page.ts'
import { type SideOperands, sidesOf } from '../profile/sides.ts'
import { percent, plural, span } from '../profile/text.ts'
import { together } from '../profile/together.ts'
import { redacted, ValueNumbers } from '../profile/values.ts'
import { writePieces } from '../profile/write.ts'
import { exportUnlessStopped } from './export.ts'
import { readWithProgress } from './read.ts'
import { say } from './say.ts'

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

/** Both sides have a segment of the same recording, for example since a time range is rounded to segments. */
export class SharedSegments extends JfluidError {
  static sample = () => new SharedSegments('app.jfluid', 10_000, 15_000)
  readonly exitCode = EX_USAGE
  readonly hint: string
  constructor(path: string, fromMs: number, toMs: number) {
    const shared = `${span(fromMs)} to ${span(toMs)}`
    super(`both sides contain ${shared} of ${path}: time ranges are rounded to segments`)
    this.hint = `Use time ranges without a common segment, for example: --before 0s-${seconds(fromMs)} --after ${seconds(toMs)}-`
    if (fromMs <= 0) this.hint = 'Use time ranges without a common segment.'
  }
}

/** A `--fail-if` condition is true. */
export class ChangedTooMuch extends JfluidError {
  static sample = () => new ChangedTooMuch('root total > 5ms', 'root total 4.1 ms → 6.2 ms', 0)
  readonly exitCode = EX_REGRESSION
  readonly hint =
    'Find the cause in the methods above. If the change is intended, use the new profile as the first one from now on.'
  constructor(condition: string, verdict: string, others: number) {
    super(`'${condition}' holds: ${verdict}${others > 0 ? `, and ${plural(others, 'more condition')}` : ''}`)
  }
}

/** Formats a time in seconds as an operand: "12.5s". */
const seconds = (ms: number): string => `${Number((ms / 1000).toFixed(3))}s`

const holds = ({ path, profile }: Recording): string => `${path} contains ${measureText(profile)}`

/**
 * @throws CannotReadProfile and similar errors, NoTwoSides, BadRange, SharedSegments, DifferentMetrics, NothingInProfile, BadCondition, NoSuchMethod,
 * ShortMethodHasNoRow, CannotWriteExport, ChangedTooMuch
 */
export async function compare(
  beforePath: string | undefined,
  afterPath: string | undefined,
  flags: Flags<'compare'>,
): Promise<void> {
  const { before, after, changes, verdicts } = await comparison(beforePath, afterPath, flags)
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
      : flags.markdown === true
        ? changesMarkdown(before, after, changes, verdicts, flags.top)
        : changesPieces(before, after, changes, verdicts, {
            ...terminalOptions(process.stdout),
            top: flags.top,
          })
  await writePieces(process.stdout, pieces)
  for (const it of verdicts.filter(({ isBelowErrorBound }) => isBelowErrorBound)) say(hiddenText(it))
  const [fails, ...more] = failed
  if (fails !== undefined)
    throw new ChangedTooMuch(fails.condition.text, verdictText(fails, changes), more.length)
}

export interface Comparison {
  readonly before: Compared
  readonly after: Compared
  readonly changes: Changes
  readonly verdicts: readonly Verdict[]
}

/** Reads and compares the profiles. @throws errors of `compare`, except CannotWriteExport and ChangedTooMuch */
export async function comparison(
  beforePath: string | undefined,
  afterPath: string | undefined,
  flags: Flags<'compare'>,
): Promise<Comparison> {
  const paths = [beforePath, afterPath].filter((it) => it !== undefined)
  const sides = sidesOf(paths, flags.before, flags.after, existsSync)
  // Both sides use the same number for a value, so that its rows are compared.
  const numbers = flags.redact === true ? new ValueNumbers() : null
  const paired = await readSides(sides, numbers)
  const read = {
    before: withSegments(paired.before, sides.before),
    after: withSegments(paired.after, sides.after),
  }
  mustNotShare(read)
  const [first, ...others] = [...read.before, ...read.after]
  const metric = metricOf(first!.profile.merged)
  const different = others.find(({ profile }) => metricOf(profile.merged) !== metric)
  if (different !== undefined) throw new DifferentMetrics(holds(first!), holds(different))
  const [before, after] = [sideOf(read.before), sideOf(read.after)]
  const parts = { before: partsOf(read.before), after: partsOf(read.after) }
  const options = { callSites: flags.callSites !== false, parts }
  const conditions = (flags.failIf ?? []).map((text) => parseCondition(text, metric))
  const changes = changesOf(before.profile, after.profile, options)
  const names = [...before.profile.methodNames, ...after.profile.methodNames]
  return { before, after, changes, verdicts: conditions.flatMap((it) => judge(it, changes, names)) }
}

/** Returns the warning for a condition whose limit is below the noise: it passes, although the limit may be exceeded. */
function hiddenText({ condition, subject, before, errorBound }: Verdict): string {
  return `warning: the condition '${condition.text}' cannot see a change of its limit: the noise of ${subject} is ±${percent(errorBound, before)} %. Compare more recordings a side, or use a larger limit.`
}

interface ReadRecording extends Recording {
  /** Profiles of the segments of the compared range. */
  readonly segments: readonly Profile[]
}

type Both<T> = { readonly before: T; readonly after: T }

/** Reads the recordings of both sides. @param numbers  numbers of redacted values; null if values are not redacted */
async function readSides(
  { before, after }: Both<SideOperands>,
  numbers: ValueNumbers | null,
): Promise<Both<readonly Recording[]>> {
  const paths = [...before.files, ...after.files]
  const read: Profile[] = []
  for (const path of paths) {
    const profile = await readWithProgress(path)
    read.push(numbers === null ? profile : redacted(profile, numbers))
  }
  const all = withMatchingNames(read).map((profile, i) => ({ path: paths[i]!, profile }))
  return { before: all.slice(0, before.files.length), after: all.slice(before.files.length) }
}

/** Cuts the range of a side out of its recordings. @throws NoTimeRanges, NoSuchRange, NothingInProfile */
function withSegments(recordings: readonly Recording[], { range }: SideOperands): ReadRecording[] {
  return recordings.map(({ path, profile: whole }) => {
    const profile = comparable(path, ofRange(whole, range, path))
    return { path, profile, segments: segmentsOf(whole, profile) }
  })
}

/** @throws SharedSegments */
function mustNotShare({ before, after }: Both<readonly Recording[]>): void {
  for (const { path, profile: one } of before) {
    for (const { path: otherPath, profile: other } of after) {
      // A recording may be compared with itself.
      if (resolve(path) !== resolve(otherPath) || (one.range === undefined && other.range === undefined))
        continue
      const [a, b] = [boundsOf(one), boundsOf(other)]
      const [fromMs, toMs] = [Math.max(a.fromMs, b.fromMs), Math.min(a.toMs, b.toMs)]
      if (fromMs < toMs) throw new SharedSegments(path, fromMs, toMs)
    }
  }
}

function boundsOf({ range, durationMs }: Profile): { readonly fromMs: number; readonly toMs: number } {
  return range ?? { fromMs: 0, toMs: durationMs }
}

/** Returns the sum of the recordings of a side. */
function sideOf(recordings: readonly ReadRecording[]): Compared {
  const [first] = recordings
  if (recordings.length === 1) return first!
  const profile = together(recordings.map((it) => it.profile))
  return { path: recordings.map(({ path }) => path).join(', '), profile, recordings }
}

/** Returns the profiles from whose differences the noise of a side is estimated. */
function partsOf(recordings: readonly ReadRecording[]): readonly Profile[] {
  const [first] = recordings
  return recordings.length === 1 ? first!.segments : recordings.map(({ profile }) => profile)
}

/** @throws NothingInProfile */
function comparable(path: string, profile: Profile): Profile {
  const { isSampled } = METRICS[profile.mode]
  if (isSampled ? rootTotal(profile.merged) <= 0 : rootCalls(profile) <= 0)
    throw new NothingInProfile(path, profile.regions !== undefined)
  return profile
}
