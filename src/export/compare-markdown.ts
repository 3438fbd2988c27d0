// Comparison of two profiles as Markdown, for a comment on a pull request: root calls, significant changes of methods, conditions. Names
// are in code spans, so that they are not interpreted as markup.

import type { Metric } from '../measures/columns.ts'
import { type ChangedMethod, type Changes, selfChange } from '../profile/changes.ts'
import {
  amount,
  type Compared,
  callsText,
  changedText,
  comparedFacts,
  leadTexts,
  NOISE_UNKNOWN,
  shownMethods,
  signed,
  verdictText,
  warningsOf,
} from '../profile/changes-text.ts'
import type { Verdict } from '../profile/condition.ts'
import { fullName, plural } from '../profile/text.ts'
import { codeSpan } from './markdown.ts'

/** @param top  maximum number of methods; 0 for all methods with a change */
export function* changesMarkdown(
  before: Compared,
  after: Compared,
  changes: Changes,
  verdicts: readonly Verdict[],
  top: number,
): Generator<string> {
  yield `### jfluid compare of ${codeSpan(after.profile.target.mainClass)}\n\n`
  yield* conditions(verdicts, changes)
  yield* rootCallsTable(changes)
  yield* warnings(before, after, changes)
  yield* methods(changes, top)
  yield '\n'
  for (const [label, text] of comparedFacts(before, after, changes)) yield `- ${label}: ${codeSpan(text)}\n`
}

function* conditions(verdicts: readonly Verdict[], changes: Changes): Generator<string> {
  if (verdicts.length === 0) return
  for (const verdict of verdicts) {
    const result = verdict.failed ? '**FAILED**' : 'ok'
    yield `- ${result}: ${codeSpan(verdict.condition.text)}: ${codeSpan(verdictText(verdict, changes))}\n`
  }
  yield '\n'
}

function* rootCallsTable({ lead, metric }: Changes): Generator<string> {
  if (lead.length === 0) return
  yield '| root calls | before | after | change | |\n| --- | --: | --: | --: | --- |\n'
  for (const it of lead)
    yield `| ${[it.key, ...leadTexts(it, metric)].map((text) => text.trim()).join(' | ')} |\n`
  yield '\n'
}

function* warnings(before: Compared, after: Compared, changes: Changes): Generator<string> {
  const all = [...warningsOf(before, after), ...(changes.knowsNoise ? [] : [NOISE_UNKNOWN])]
  for (const it of all) yield `- warning: ${codeSpan(it)}\n`
  if (all.length > 0) yield '\n'
}

function* methods(changes: Changes, top: number): Generator<string> {
  const { metric } = changes
  const { shown, significant, others } = shownMethods(changes, top)
  const hidden = significant + others - shown.length
  const rest = hidden > 0 ? `; ${plural(hidden, 'other change')} not shown` : ''
  yield `${changedText(changes, significant)}${rest}\n`
  if (shown.length === 0) return
  const hasNoise = shown.some(({ noise }) => noise.self !== null && noise.self > 0)
  const heads = [
    `change ${metric.sign}`.trim(),
    'before',
    'after',
    ...(hasNoise ? ['noise'] : []),
    'calls',
    'method',
  ]
  yield `\n| ${heads.join(' | ')} |\n|${heads.map((head) => (head === 'method' ? ' --- ' : ' --: ')).join('|')}|\n`
  for (const it of shown) yield `| ${cellsOf(it, metric, hasNoise).join(' | ')} |\n`
  const per = metric.isSampled ? 'of all samples' : 'per root call'
  yield `\n${metric.heads.by} ${per}; calls per root call\n`
}

function cellsOf(it: ChangedMethod, metric: Metric, hasNoise: boolean): string[] {
  const { before, after, noise, name } = it
  const calls = (side: ChangedMethod['before']): string =>
    metric.isSampled ? '' : callsText(side?.calls ?? 0)
  const [was, now] = [calls(before), calls(after)]
  return [
    signed(metric, selfChange(it)),
    before === undefined ? 'new' : amount(metric, before.self),
    after === undefined ? 'gone' : amount(metric, after.self),
    ...(hasNoise ? [noise.self === null ? '' : `±${amount(metric, noise.self).trim()}`] : []),
    was === now ? now : `${was}, now ${now}`,
    codeSpan(fullName(name)),
  ].map((text) => text.trim())
}
