// Comparison of two profiles as text: the profiles, their agreement, and the methods and contexts with changed cost.

import type { MethodName } from '../cct/tree.ts'
import type { Metric } from '../measures/columns.ts'
import {
  type Changes,
  type ContextChange,
  contextChanges,
  contextNames,
  type Pair,
  selfChange,
} from './changes.ts'
import { remarksOf } from './comparable.ts'
import type { MethodPair } from './compare.ts'
import { changeText, relativeChange, type Verdict } from './condition.ts'
import { wordsOf } from './cost-text.ts'
import { LABEL_CELLS, labelled, labelledLines, type Paint, paintIf } from './paint.ts'
import type { Profile } from './profile.ts'
import {
  clean,
  count,
  cut,
  pad,
  percent,
  placeText,
  plural,
  right,
  shortName,
  span,
  width,
  wrap,
} from './text.ts'

/** A profile and the path of its file. */
export interface Compared {
  readonly path: string
  readonly profile: Profile
}

export interface ChangesTextOptions {
  /** Terminal width in cells. */
  readonly width?: number
  readonly color?: boolean
  /** Maximum number of methods, and of contexts, per direction of change. */
  readonly top?: number
}

const DEFAULTS = { width: 80, color: false, top: 10 }

/** Width in cells of the columns before the name: change, before, after, percent. */
const CONTEXT_CELLS = 38

/** Width of the change column in cells. */
const CHANGE_CELLS = 10

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
  const section = (title: string, all: number): string => {
    const rest = all === 0 ? ': none' : `, ${Math.min(top, all)} of ${count(all)}`
    return `\n${paint('bold', title)}${paint('dim', rest)}\n`
  }
  yield `${paint('bold', cut(`jfluid compare of ${clean(after.profile.target.mainClass)}`, cells))}\n`
  const remarks = remarksOf(before.profile, after.profile)
  yield* labelledLines(changesFacts(before, after, changes), remarks, cells, paint)
  const { methods, metric } = changes
  const { isSampled } = metric
  const words = isSampled ? 'of all samples' : `${metric.heads.by} per root call`
  for (const direction of ['more', 'less'] as const) {
    const sign = direction === 'more' ? 1 : -1
    const found = methods.filter((it) => sign * selfChange(it) > 0)
    yield section(`Methods with ${direction} ${words}`, found.length)
    if (found.length === 0) continue
    yield `${paint('dim', `${heads(metric)}${isSampled ? '' : `${right('calls', 8)}${right('now', 8)}`}  method`)}\n`
    for (const it of found.slice(0, top)) yield methodLine(it, metric, cells)
  }
  yield* comeAndGone(changes, cells)
  const names = contextNames(changes, before.profile, after.profile)
  for (const direction of ['more', 'less'] as const) {
    const { shown, all } = contextChanges(changes, names, direction, top)
    yield section(`Contexts with ${direction} ${words}`, all)
    if (all === 0) continue
    yield `${paint('dim', `${heads(metric)}  method, below it its callers`)}\n`
    for (const it of shown) yield* contextLines(it, changes, names, cells, paint)
  }
  if (verdicts.length > 0) yield* verdictLines(verdicts, changes, cells, paint)
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

/** Returns the compared profiles, the cost of a root call, and the agreement. */
export function changesFacts(before: Compared, after: Compared, changes: Changes): [string, string][] {
  const { rootCost, rootCalls, agreement, metric, per } = changes
  const change = changeText(relativeChange(rootCost.before, rootCost.after))
  const cost = (value: number): string => withUnit(metric, amount(metric, value))
  const calls = `${plural(rootCalls.before, 'call')} before, ${count(rootCalls.after)} after`
  const facts: [string, string][] = [
    ['before', factText(before)],
    ['after', factText(after)],
    ['root', `${rootText(before.profile)}; ${calls}`],
  ]
  const costs = `${cost(rootCost.before)} before, ${cost(rootCost.after)} after: ${change}`
  if (per === 'root call') facts.push(['per call', costs])
  facts.push(['agreement', agreementText(agreement)])
  return facts
}

function factText({ path, profile: { target, durationMs, startedAt } }: Compared): string {
  return `${clean(path)}: pid ${target.pid}, JDK ${clean(target.jdk)}, ${span(durationMs)} from ${clean(startedAt)}`
}

function rootText({ roots }: Profile): string {
  return roots.length === 0 ? 'the whole JVM' : roots.map(clean).join(', ')
}

/** Formats a cost per root call. For samples: the percentage of all samples. */
export function amount(metric: Metric, value: number): string {
  return metric.isSampled ? percent(value, 1) : wordsOf(metric).each(value, 1)
}

function signed(metric: Metric, value: number): string {
  if (value === 0) return metric.isTime ? '0   ' : '0'
  return `${value > 0 ? '+' : '-'}${amount(metric, Math.abs(value))}`
}

/** Appends the unit to a formatted amount, for use in running text. */
function withUnit({ isTime, sign }: Metric, text: string): string {
  return isTime ? text.trimEnd() : `${text} ${sign}`
}

function heads({ sign }: Metric): string {
  const change = `change ${sign}`.trimEnd()
  return `${right(change.length < CHANGE_CELLS ? change : 'change', CHANGE_CELLS)}${right('before', 10)}${right('after', 10)}${right('%', 8)}`
}

/** Formats the number columns that the lines of methods and the lines of contexts have in common. */
function costCells(metric: Metric, { before, after }: Pair, come: boolean, gone: boolean): string {
  const change = relativeChange(before, after)
  const share = come ? 'new' : gone ? 'gone' : Number.isFinite(change) ? shareText(change) : '-'
  return (
    right(signed(metric, after - before), CHANGE_CELLS) +
    right(come ? '' : amount(metric, before), 10) +
    right(gone ? '' : amount(metric, after), 10) +
    right(share, 8)
  )
}

/** Formats a relative change as a percentage, "+12.3", or from tenfold growth as a factor, "x 25.1". */
function shareText(change: number): string {
  return change >= 9
    ? `x ${count(change + 1, 7)}`
    : `${change > 0 ? '+' : '-'}${percent(Math.abs(change), 1)}`
}

function methodLine({ name, before, after }: MethodPair, metric: Metric, cells: number): string {
  const pair = { before: before?.self ?? 0, after: after?.self ?? 0 }
  const calls = (of: { calls: number } | undefined): string =>
    right(of === undefined ? '' : callsText(of.calls), 8)
  const numbers = costCells(metric, pair, before === undefined, after === undefined)
  // Sampled profiles omit the numbers of calls, which are only lower bounds.
  const counts = metric.isSampled ? '' : calls(before) + calls(after)
  return `${numbers}${counts}  ${shortName(name, Math.max(16, cells - width(numbers + counts) - 2))}\n`
}

/** Formats a number of calls per root call: "118", "0.25". */
function callsText(calls: number): string {
  if (calls === 0) return '0'
  if (calls >= 1000 || Number.isInteger(calls)) return count(calls, 7)
  return calls >= 0.001 ? `${Number(calls.toPrecision(3))}` : '<0.001'
}

const CALLERS = 40

function* contextLines(
  { node, before, after }: ContextChange,
  { difference, metric }: Changes,
  names: (node: number) => MethodName,
  cells: number,
  paint: Paint,
): Generator<string> {
  const come = difference.nodeBefore[node]! < 0
  const gone = difference.nodeAfter[node]! < 0
  const place = placeText(names(node))
  const name = shortName(names(node), Math.max(16, cells - CONTEXT_CELLS - 2 - place.length))
  yield `${costCells(metric, { before, after }, come, gone)}  ${name}${paint('dim', place)}\n`
  const callers: string[] = []
  let used = 12
  let above = difference.parent[node]!
  for (; above >= 0 && callers.length < CALLERS; above = difference.parent[above]!) {
    const room = cells - used - 5
    if (room < 12) break
    const caller = shortName(names(above), Math.min(room, 40))
    callers.push(caller)
    used += width(caller) + 3
  }
  if (callers.length > 0)
    yield `${paint('dim', `  called by ${callers.join(' < ')}${above >= 0 ? ' …' : ''}`)}\n`
}

function* comeAndGone({ methods, metric, per }: Changes, cells: number): Generator<string> {
  const come = methods.filter(({ before }) => before === undefined)
  const gone = methods.filter(({ after }) => after === undefined)
  const sum = (of: readonly MethodPair[]): string =>
    withUnit(
      metric,
      signed(
        metric,
        of.reduce((all, it) => all + selfChange(it), 0),
      ),
    )
  const each = per === 'sample' ? ' of all samples' : ' per root call'
  const told: string[] = []
  if (come.length > 0)
    told.push(`${plural(come.length, 'method')} only in the second profile (${sum(come)}${each})`)
  if (gone.length > 0)
    told.push(`${plural(gone.length, 'method')} only in the first profile (${sum(gone)}${each})`)
  if (told.length > 0) yield `\n${wrap(told.join('; '), cells).join('\n')}\n`
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
