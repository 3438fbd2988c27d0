// Comparison of two profiles as text: the profiles, their agreement, and the methods and contexts with changed cost.

import { holdsBytes } from '../cct/allocation.ts'

import type { MethodName } from '../cct/tree.ts'
import type { Metric } from '../measures/columns.ts'
import { exceedsNoise, type LeadChange } from './changed-root-calls.ts'
import { type ChangedMethod, type Changes, contextNames, MIN_ROW_SHARE, selfChange } from './changes.ts'
import { remarksOf } from './comparable.ts'
import { methodKey } from './compare.ts'
import { changeText, relativeChange, type Verdict } from './condition.ts'
import { wordsOf } from './cost-text.ts'
import { isCounted } from './method-noise.ts'
import { LABEL_CELLS, labelled, labelledLines, type Paint, paintIf } from './paint.ts'
import type { Profile } from './profile.ts'
import { rangeText } from './range.ts'
import { callCost } from './root-calls.ts'
import { clean, count, cut, pad, percent, plural, right, shortName, span, width, wrap } from './text.ts'

/** A profile and the path of its file. */
export interface Recording {
  readonly path: string
  readonly profile: Profile
}

/** A side of a comparison. */
export interface Compared extends Recording {
  /** The recordings whose sum the profile is; absent for a single recording. */
  readonly recordings?: readonly Recording[]
}

export interface ChangesTextOptions {
  /** Terminal width in cells. */
  readonly width?: number
  readonly color?: boolean
  /** Maximum number of rows whose change exceeds the noise. 0: all rows that have changed at all. */
  readonly top?: number
}

/** Maximum number of rows of a comparison, unless the user gives another number. */
export const MAX_ROWS = 20

const DEFAULTS = { width: 80, color: false, top: MAX_ROWS }

/** Width of the number columns of methods, in cells, and of root calls. */
const CELLS = 10
const LEAD_CELLS = 13

/** Yields the lines of the report. Each line ends with a line feed. */
export function* changesPieces(
  before: Compared,
  after: Compared,
  changes: Changes,
  verdicts: readonly Verdict[],
  options: ChangesTextOptions = {},
): Generator<string> {
  const { width: cells, color, top } = { ...DEFAULTS, ...options }
  const paint = paintIf(color)
  yield `${paint('bold', cut(`jfluid compare of ${clean(after.profile.target.mainClass)}`, cells))}\n`
  yield* leadLines(changes, cells, paint)
  const warnings = warningsOf(before, after)
  if (!changes.knowsNoise) warnings.push(NOISE_UNKNOWN)
  yield* labelledLines([], warnings, cells, paint)
  yield* rowLines(changes, before.profile, after.profile, top, cells, paint)
  if (verdicts.length > 0) yield* verdictLines(verdicts, changes, cells, paint)
  yield '\n'
  yield* labelledLines(comparedFacts(before, after, changes), [], cells, paint)
}

/** Returns one sentence per reason that makes the recordings hard to compare. */
export function warningsOf(before: Compared, after: Compared): string[] {
  return [...[before, after].flatMap(differencesWithin), ...remarksOf(before.profile, after.profile)]
}

/** Returns the differences between the recordings of a side. */
function differencesWithin({ recordings = [] }: Compared): string[] {
  const [first, ...others] = recordings
  return others.flatMap(({ path, profile }) =>
    remarksOf(first!.profile, profile)
      .filter((it) => it.startsWith('different '))
      .map((it) => `${path} differs from ${first!.path}: ${it}`),
  )
}

export const NOISE_UNKNOWN =
  'the noise is unknown: record 20 s or more, or compare several recordings a side, with --before and --after'

/** Yields the table of the root calls. */
function* leadLines({ lead, metric }: Changes, cells: number, paint: Paint): Generator<string> {
  if (lead.length === 0) return
  const head = right('before', LEAD_CELLS) + right('after', LEAD_CELLS) + right('change', LEAD_CELLS)
  yield `${paint('dim', `root calls${head}`)}\n`
  for (const it of lead) {
    const [one, other, change, noise] = leadTexts(it, metric)
    const numbers = [one, other, change].map((text) => right(text, LEAD_CELLS)).join('')
    const line = `  ${pad(it.key, LABEL_CELLS - 2)}${numbers}`
    yield noise === '' ? `${line}\n` : `${line}${paint('dim', cut(`  ${noise}`, cells - width(line)))}\n`
  }
}

/** Returns the texts of a change: before, after, relative change, and whether it is noise. */
export function leadTexts(change: LeadChange, metric: Metric): [string, string, string, string] {
  const { before, after, noise, unit } = change
  const text = (value: number): string => {
    if (unit === 'calls per second') return `${rateText(value)}/s`
    return unit === 'cost' ? withUnit(metric, amount(metric, value)) : callCost(value, unit)
  }
  const part = changeText(relativeChange(before, after))
  const isNoise = noise !== null && noise > 0 && !exceedsNoise(change)
  return [text(before), text(after), part, isNoise ? `within noise (±${percent(noise, before)} %)` : '']
}

/** Formats a number of calls per second with three significant digits: "41.0", "1,204". */
function rateText(rate: number): string {
  return rate >= 1000 ? count(rate) : rate >= 100 || rate === 0 ? rate.toFixed(0) : rate.toPrecision(3)
}

/** Yields the changed methods. A method has at most one row, with the callers of its context that has changed most. */
function* rowLines(
  changes: Changes,
  before: Profile,
  after: Profile,
  top: number,
  cells: number,
  paint: Paint,
): Generator<string> {
  const { metric } = changes
  const { shown, significant, others } = shownMethods(changes, top)
  yield `\n${wrap(rowsTitle(changes, shown.length, significant, others), cells)
    .map((line) => paint('bold', line))
    .join('\n')}\n`
  if (shown.length === 0) return
  const names = contextNames(changes, before, after)
  const contexts = mostChangedContexts(changes, shown, names)
  const hasNoise = shown.some(({ noise }) => noise.self !== null && noise.self > 0)
  const { isSampled, sign } = metric
  const head = `change ${sign}`.trimEnd()
  const heads = [head.length < CELLS ? head : 'change', 'before', 'after', ...(hasNoise ? ['noise'] : [])]
  const per = isSampled ? 'of all samples' : 'per root call'
  yield `${paint('dim', `${heads.map((it) => right(it, CELLS)).join('')}  method; ${metric.heads.by} ${per}`)}\n`
  for (const it of shown) {
    yield methodLine(it, metric, hasNoise, cells)
    const below = belowText(it, contexts.get(it), changes, names, cells)
    if (below !== '') yield `${paint('dim', below)}\n`
  }
}

/** Returns the methods to show. @param top  maximum number of significant changes; 0 for all changes */
export function shownMethods(
  { methods }: Pick<Changes, 'methods'>,
  top: number,
): { readonly shown: readonly ChangedMethod[]; readonly significant: number; readonly others: number } {
  const changed = methods.filter((it) => selfChange(it) !== 0)
  const significant = changed.filter((it) => it.isSignificant)
  return {
    shown: top === 0 ? changed : significant.slice(0, top),
    significant: significant.length,
    others: changed.length - significant.length,
  }
}

function rowsTitle(changes: Changes, shown: number, significant: number, others: number): string {
  const hidden = significant + others - shown
  const more = significant > shown ? `the ${plural(shown, 'largest change')} below; ` : ''
  const rest = hidden > 0 ? `; ${more}${plural(hidden, 'other change')}: --top 0` : ''
  return `${changedText(changes, significant)}${rest}`
}

/** @param significant  number of methods whose change is significant */
export function changedText({ metric, knowsNoise }: Changes, significant: number): string {
  const exact = !metric.isTime && !metric.isSampled
  const by = exact
    ? ''
    : knowsNoise
      ? ' by more than the noise'
      : ` by more than ${MIN_SHARE_TEXT} of a root call`
  return `${significant === 0 ? 'no method' : plural(significant, 'method')} changed${by}`
}

const MIN_SHARE_TEXT = `${percent(MIN_ROW_SHARE, 1).replace('.0', '')} %`

/**
 * Returns the context with the largest change in the direction of its method's change, for each method. For allocations: returns class
 * contexts, since a method's own bytes are the sum of its classes' bytes.
 */
function mostChangedContexts(
  { difference, perRootCall, metric: { hasClasses } }: Changes,
  methods: readonly ChangedMethod[],
  names: (node: number) => MethodName,
): Map<ChangedMethod, number> {
  const byKey = new Map(methods.map((it) => [methodKey(it.name), it]))
  const found = new Map<ChangedMethod, { node: number; change: number }>()
  const { self } = difference
  for (let node = 0; node < difference.count; node++) {
    const change = self.after[node]! / perRootCall.after - self.before[node]! / perRootCall.before
    if (change === 0) continue
    if (hasClasses && !holdsBytes(names(node))) continue
    const method = byKey.get(methodKey(names(hasClasses ? difference.parent[node]! : node)))
    if (method === undefined) continue
    const size = Math.sign(selfChange(method)) * change
    if (size > (found.get(method)?.change ?? 0)) found.set(method, { node, change: size })
  }
  return new Map([...found].map(([method, { node }]) => [method, node]))
}

/** Describes the agreement of two profiles. */
function agreementText({ overlap, hotEdges, correlation }: Changes['agreement']): string {
  const hot =
    hotEdges.count === 0
      ? 'no hot edges'
      : `${percent(hotEdges.coverage, 1)} % of ${plural(hotEdges.count, 'hot edge')}`
  const correlated = Number.isNaN(correlation) ? '' : `, correlation ${correlation.toFixed(3)}`
  return `overlap ${percent(overlap, 1)} %, ${hot}${correlated}`
}

/** Returns facts about the compared profiles, and their agreement. */
export function comparedFacts(before: Compared, after: Compared, changes: Changes): [string, string][] {
  const { rootCalls, agreement } = changes
  const calls = `${plural(rootCalls.before, 'call')} before, ${count(rootCalls.after)} after`
  return [
    ['before', factText(before)],
    ['after', factText(after)],
    ['root', `${rootText(before.profile)}; ${calls}`],
    ...noiseFact(before, after, changes),
    ['agreement', agreementText(agreement)],
  ]
}

export type NoiseSource = 'segments' | 'recordings'

/** Returns what the noise of a side was estimated from; null for counts, or if it is unknown. */
export function noiseSource(
  { recordings }: Compared,
  { rootNoise, metric }: Pick<Changes, 'rootNoise' | 'metric'>,
): NoiseSource | null {
  if (rootNoise === null || isCounted(metric)) return null
  return recordings === undefined ? 'segments' : 'recordings'
}

function noiseFact(before: Compared, after: Compared, changes: Changes): [string, string][] {
  const [one, other] = [noiseSource(before, changes), noiseSource(after, changes)]
  if (one === null || other === null) return []
  const from = one === other ? one : `${one} before, ${other} after`
  const isPart = one === 'segments' || other === 'segments'
  return [['noise', `from ${from}${isPart ? '; processes differ by more than the segments of one' : ''}`]]
}

function factText({ path, profile: { target, durationMs, startedAt, range }, recordings }: Compared): string {
  if (recordings !== undefined) {
    const spans = recordings.map(({ profile: it }) =>
      it.range === undefined ? span(it.durationMs) : rangeText(it.range),
    )
    return `${clean(path)}: JDK ${clean(target.jdk)}, ${plural(recordings.length, 'recording')} of ${spans.join('; ')}`
  }
  const of = `${clean(path)}: pid ${target.pid}, JDK ${clean(target.jdk)}`
  if (range !== undefined) return `${of}, ${rangeText(range)}`
  return `${of}, ${span(durationMs)} from ${clean(startedAt)}`
}

function rootText({ roots }: Profile): string {
  return roots.length === 0 ? 'the whole JVM' : roots.map(clean).join(', ')
}

/** Formats a cost per root call. For samples: the percentage of all samples. */
export function amount(metric: Metric, value: number): string {
  return metric.isSampled ? percent(value, 1) : wordsOf(metric).each(value, 1)
}

export function signed(metric: Metric, value: number): string {
  if (value === 0) return metric.isTime ? '0   ' : '0'
  return `${value > 0 ? '+' : '-'}${amount(metric, Math.abs(value))}`
}

/** Appends the unit to a formatted amount, for use in running text. */
function withUnit({ isTime, sign }: Metric, text: string): string {
  return isTime ? text.trimEnd() : `${text} ${sign}`
}

function methodLine(
  { name, before, after, noise }: ChangedMethod,
  metric: Metric,
  hasNoise: boolean,
  cells: number,
): string {
  const [one, other] = [before?.self ?? 0, after?.self ?? 0]
  const numbers = [
    signed(metric, other - one),
    before === undefined ? 'new' : amount(metric, one),
    after === undefined ? 'gone' : amount(metric, other),
    ...(hasNoise ? [noise.self === null ? '' : `±${amount(metric, noise.self).trim()}`] : []),
  ]
    .map((it) => right(it, CELLS))
    .join('')
  return `${numbers}  ${shortName(name, Math.max(16, cells - width(numbers) - 2))}\n`
}

/** Formats a number of calls per root call: "118", "0.25". */
export function callsText(calls: number): string {
  if (calls === 0) return '0'
  if (calls >= 1000 || Number.isInteger(calls)) return count(calls, 7)
  return calls >= 0.001 ? `${Number(calls.toPrecision(3))}` : '<0.001'
}

const MAX_CALLERS = 40

/** Describes a row: its number of calls if this number has changed, and its most changed context: the allocated class, the callers. */
function belowText(
  { before, after }: ChangedMethod,
  node: number | undefined,
  { difference, metric }: Changes,
  names: (node: number) => MethodName,
  cells: number,
): string {
  const [one, other] = [before?.calls ?? 0, after?.calls ?? 0]
  // Samples give only lower bounds of the numbers of calls.
  const calls = metric.isSampled || one === other ? '' : `calls ${callsText(one)}, now ${callsText(other)}`
  const isClass = metric.hasClasses && node !== undefined
  const allocated = isClass ? `mostly ${shortName(names(node), 30)}` : ''
  const method = isClass ? difference.parent[node]! : node
  const callers: string[] = []
  let used = 2 + width(calls) + width(allocated) + 14
  let above = method === undefined ? -1 : difference.parent[method]!
  for (; above >= 0 && callers.length < MAX_CALLERS; above = difference.parent[above]!) {
    const room = cells - used - 5
    if (room < 12) break
    const caller = shortName(names(above), Math.min(room, 40))
    callers.push(caller)
    used += width(caller) + 3
  }
  const from = callers.length === 0 ? '' : `called by ${callers.join(' < ')}${above >= 0 ? ' …' : ''}`
  const text = [calls, allocated, from].filter((it) => it !== '').join('; ')
  return text === '' ? '' : `  ${text}`
}

function* verdictLines(
  verdicts: readonly Verdict[],
  changes: Changes,
  cells: number,
  paint: Paint,
): Generator<string> {
  yield `\n${paint('bold', 'Conditions')}\n`
  for (const verdict of verdicts) {
    const text = `${verdict.condition.text}: ${verdictText(verdict, changes)}`
    const label = pad(verdict.failed ? 'FAILED' : 'ok', LABEL_CELLS)
    yield labelled(verdict.failed ? paint('warning', label) : label, clean(text), cells)
  }
}

/** Describes a verdict: "com.acme.Foo.bar 0.1000 ms, now 0.1200 ms: +20.0 %". */
export function verdictText(
  { condition, subject, before, after, change, errorBound, isWithinErrorBound, isBelowErrorBound }: Verdict,
  { metric }: Changes,
): string {
  const isCalls = condition.measure === 'calls'
  const text = (value: number): string =>
    isCalls ? callsText(value) : withUnit(metric, amount(metric, value))
  const noise = isWithinErrorBound ? `, within the noise of ±${text(errorBound)}` : ''
  const hardly = isBelowErrorBound
    ? `; noise of ±${percent(errorBound, before)} % hides a smaller change`
    : ''
  return `${subject} ${text(before)}, now ${text(after)}: ${changeText(change)}${noise}${hardly}`
}
