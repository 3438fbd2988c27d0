// The page with the source lines of a method, and the share of each line in the samples of the method.

import { minOf } from '../base/arrays.ts'
import type { LineCost, MethodLines } from '../cct/line-samples.ts'
import type { MethodName } from '../cct/tree.ts'
import type { SourceText } from '../profile/source-folders.ts'
import {
  type CodeSince,
  type LineRange,
  type MethodPlace,
  type MethodRange,
  mismatch,
  rangeOf,
} from '../profile/source-lines.ts'
import { clean, cut, pad, percent, plural, right, signature, wrap } from './format.ts'
import { run } from './frame-lines.ts'
import type { Line, Style } from './screen.ts'
import { heatOf } from './views/columns.ts'

/** Data of the page. */
export interface SourceFacts {
  readonly name: MethodName
  /** Place of the method's code from the class file; null if the class file is not available. */
  readonly place: MethodPlace | null
  /** Source file. If it is null, `whyNoText` has the reason. */
  readonly text: SourceText | null
  readonly whyNoText: string
  /** Samples per line. If they are undefined, `whyNoLines` has the reason. */
  readonly samples: MethodLines | undefined
  readonly whyNoLines: string
  readonly since: CodeSince | undefined
}

export interface SourcePage {
  readonly lines: Line[]
  /** Index of the line with the highest share; 0 without shares. */
  readonly hottest: number
  /** Reason why the source file may not match the class; null if there is none. */
  readonly warning: string | null
}

/** Number of source lines shown above and below the lines of a method. */
const CONTEXT_LINES = 3
const TAB_CELLS = 4
/** Widths of the number columns: self, total, line. */
const [SELF_CELLS, TOTAL_CELLS, LINE_CELLS] = [6, 7, 7] as const
const CODE_CELL = SELF_CELLS + TOTAL_CELLS + LINE_CELLS + 2

/** @param columns  width of the screen */
export function sourcePage(facts: SourceFacts, columns: number): SourcePage {
  const { name, place, samples } = facts
  const last = Math.max(place?.lines?.to ?? 0, samples?.lines.at(-1)?.line ?? 0)
  const problem = facts.text === null ? null : mismatch(facts.text, last, facts.since)
  const text = problem?.isCertain === true ? null : facts.text
  const range = rangeOf(name, place, samples, text?.lines ?? null)
  const lines: Line[] = [[run(` ${cut(signature(name), columns - 1)}`, 'title')]]
  const say = (said: string, style: Style = 'plain'): void => {
    for (const line of wrap(clean(said), columns - 2)) lines.push([run(` ${line}`, style)])
  }
  say(placeText({ name, place, text }, range))
  say(samplesText(facts))
  if (problem !== null) say(problem.says, 'warning')
  else if (text === null) say(facts.whyNoText, 'dim')
  const costs = new Map((samples?.lines ?? []).map((it) => [it.line, it]))
  const hottest = byCost([...costs.values()])
  const shown = text === null ? [] : textLines(text.lines, range, costs)
  const rows = shown.length > 0 ? shown : hottest.map(({ line }) => ({ line, code: '' }))
  const warning = problem?.says ?? null
  if (rows.length === 0) return { lines, hottest: 0, warning }
  lines.push(headLine(shown.length > 0 ? 'source' : '', columns))
  const at = rows.findIndex(({ line }) => line === hottest[0]?.line)
  const scrolled = at < 0 ? 0 : lines.length + at
  for (const row of rows) {
    const isOfMethod = range !== null && row.line >= range.from && row.line <= range.to
    lines.push(rowOf(row, costs.get(row.line), samples?.total ?? 0, isOfMethod, columns))
  }
  return { lines, hottest: scrolled, warning }
}

function headLine(last: string, columns: number): Line {
  const numbers = right('self', SELF_CELLS) + right('total', TOTAL_CELLS) + right('line', LINE_CELLS)
  return [run(pad(`${numbers}  ${last}`, columns), 'header')]
}

/** A source line. Without source text, `code` is empty. */
interface SourceRow {
  readonly line: number
  readonly code: string
}

function rowOf(
  { line, code }: SourceRow,
  cost: LineCost | undefined,
  whole: number,
  isOfMethod: boolean,
  columns: number,
): Line {
  const text = `  ${cut(clean(code), columns - CODE_CELL)}`
  const numbers = numbersText(cost, whole) + right(`${line}`, LINE_CELLS)
  if (cost === undefined) return [run(numbers, 'dim'), run(text, isOfMethod ? 'plain' : 'dim')]
  const heat = heatOf(cost.total, whole)
  return [run(numbers, heat), run(text, heat)]
}

function numbersText(cost: LineCost | undefined, whole: number): string {
  if (cost === undefined) return ' '.repeat(SELF_CELLS + TOTAL_CELLS)
  return right(percent(cost.self, whole), SELF_CELLS) + right(percent(cost.total, whole), TOTAL_CELLS)
}

/** Returns the lines with the highest share first. */
function byCost(costs: readonly LineCost[]): LineCost[] {
  return [...costs].sort((a, b) => b.total - a.total || b.self - a.self || a.line - b.line)
}

/** Returns the source lines of a method, some lines around the method, and sampled lines outside this range. */
function textLines(
  text: readonly string[],
  range: LineRange | null,
  costs: ReadonlyMap<number, LineCost>,
): SourceRow[] {
  if (range === null) return []
  const from = Math.max(1, range.from - CONTEXT_LINES)
  const to = Math.min(text.length, range.to + CONTEXT_LINES)
  const found: SourceRow[] = []
  for (let line = from; line <= to; line++) found.push({ line, code: withoutTabs(text[line - 1]!) })
  for (const line of costs.keys())
    if (line < from || line > to) found.push({ line, code: withoutTabs(text[line - 1] ?? '') })
  const indents = found.filter(({ code }) => code.trim() !== '').map(({ code }) => code.search(/\S/))
  const common = indents.length === 0 ? 0 : minOf(indents)
  return found.map(({ line, code }) => ({ line, code: code.slice(common) })).sort((a, b) => a.line - b.line)
}

function withoutTabs(code: string): string {
  let spread = ''
  for (const part of code.split('\t').slice(0, -1)) {
    spread += part
    spread += ' '.repeat(TAB_CELLS - (spread.length % TAB_CELLS))
  }
  return spread + code.slice(code.lastIndexOf('\t') + 1)
}

/** Returns "src/shop/Order.java:12-40", or the part of this text that is known. */
function placeText(
  { name, place, text }: Pick<SourceFacts, 'name' | 'place' | 'text'>,
  range: MethodRange | null,
): string {
  const file = text?.path ?? place?.file ?? `class ${name.class}`
  if (range === null) return `${file}, lines not known`
  if (range.by === 'declaration') return `${file}:${range.from}, found by the name of the method`
  const lines = range.from === range.to ? `${range.from}` : `${range.from}-${range.to}`
  return range.by === 'class' || text !== null ? `${file}:${lines}` : `${file}, sampled lines ${lines}`
}

function samplesText({ samples, whyNoLines }: SourceFacts): string {
  if (samples === undefined || samples.lines.length === 0) return whyNoLines
  return `shares of the ${plural(samples.samples, 'sample')} of this method, in all contexts and threads`
}
