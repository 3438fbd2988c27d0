// The live view of regions as lines with styles. Pure: the same scene gives the same lines.
//
// Top to bottom: two lines of status, one line a region, what is known of the selected one (its times, its histogram,
// its course), one line for messages, one of keys.

import type { MethodName } from '../cct/tree.ts'
import type { RegionTimes } from '../profile/profile.ts'
import { linesText, regionName } from '../profile/region-report.ts'
import {
  ASCII_BARS,
  BARS,
  type BarGlyphs,
  bar,
  barRows,
  perSecond,
  sparkline,
  time,
} from '../profile/region-text.ts'
import { clean, count, cut, pad, percent, right, shortCount, signature, span, width, wrap } from './format.ts'
import type { LiveStatus } from './live-source.ts'
import type { Line, Run, Style } from './screen.ts'
import { isTooSmall, SMALLEST_COLUMNS, SMALLEST_ROWS } from './size.ts'

export type RegionPage = 'help' | 'warnings'

export interface RegionScene {
  readonly columns: number
  readonly rows: number
  readonly unicode: boolean
  readonly regions: readonly RegionTimes[]
  /** Index of the one that is shown in full. */
  readonly selected: number
  readonly status: LiveStatus
  /** What an execution costs the target. */
  readonly overheadNs: number
  readonly methodName: (id: number) => MethodName
  readonly paused: boolean
  readonly page: RegionPage | undefined
  /** Why the session is over; undefined while it is not. */
  readonly ended: string | undefined
  /** A word to the user, for a few seconds. */
  readonly notice: string | undefined
}

/** Rows of the table at most; it scrolls with the selection. */
const TABLE_ROWS = 5
/** Cells of its numbers. */
const NUMBER_CELLS = 56
/** "now" is what the last two seconds were. */
const NOW_MS = 2000

export const REGION_KEYS: readonly (readonly [label: string, help: string, short: string])[] = [
  ['q', 'detach and leave', 'quit'],
  ['?', 'this page', 'help'],
  ['Up k', 'the region above', 'above'],
  ['Down j', 'the region below', 'below'],
  ['p', 'freeze what is shown; recording goes on', 'pause'],
  ['z R', 'begin all counts and times at zero', 'zero'],
  ['w', 'warnings in full', 'warnings'],
  ['Esc', 'close a page', ''],
  ['Ctrl-Z', 'stop jfluid as a job, which ends the recording; fg returns', ''],
]

export function regionSceneLines(scene: RegionScene): Line[] {
  if (isTooSmall(scene)) return tooSmall(scene)
  const room = scene.rows - 4 // two of status, a message, the keys
  const body = scene.page === undefined ? bodyLines(scene, room) : pageLines(scene, scene.page)
  const lines = [...statusLines(scene), ...body.slice(0, room)]
  while (lines.length < scene.rows - 2) lines.push([])
  return [...lines, messageLine(scene), keyLine(scene.columns)]
}

function run(text: string, style: Style = 'plain'): Run {
  return { text, style }
}

function tooSmall({ columns, rows }: RegionScene): Line[] {
  const text = [`The terminal is ${columns}x${rows};`, `jfluid needs ${SMALLEST_COLUMNS}x${SMALLEST_ROWS}.`]
  return text.slice(0, rows).map((line) => [run(cut(line, columns), 'warning')])
}

/** Left and right parts of a line; where they do not both fit, the left one is cut. */
function between(left: readonly Run[], atRight: readonly Run[], columns: number): Line {
  let room = columns - atRight.reduce((sum, it) => sum + width(it.text), 0)
  const line: Run[] = []
  for (const { text, style } of left) {
    const shown = cut(text, room)
    room -= width(shown)
    line.push(run(shown, style))
  }
  return [...line, run(' '.repeat(Math.max(0, room))), ...atRight]
}

function statusLines({ columns, status, overheadNs, paused, ended }: RegionScene): Line[] {
  const warnings = status.warnings.length
  const phase =
    ended !== undefined || status.phase === 'ended'
      ? run('ended', 'error')
      : paused
        ? run('PAUSED', 'warning')
        : run(
            status.phase === 'recording' ? 'recording' : 'waiting',
            status.phase === 'recording' ? 'good' : 'warning',
          )
  const first = [
    run(' jfluid ', 'title'),
    run(` pid ${status.pid}  `, 'dim'),
    run(clean(status.mainClass), 'title'),
    run(columns >= 100 ? `  JDK ${clean(status.jdk)}` : '', 'dim'),
  ]
  const atRight = [
    run(warnings === 0 ? '  ' : `  ${warnings} warning${warnings === 1 ? '' : 's'}: w  `, 'warning'),
    phase,
    run(` ${span(status.elapsedMs)} `),
  ]
  const second = [
    run(' gross time of regions  ', 'dim'),
    run(shortCount(status.eventsPerSecond)),
    run(' executions/s  ', 'dim'),
    run(`${overheadNs.toFixed(0)} ns`),
    run(' overhead each  wait ', 'dim'),
    run(`${status.waitPercent.toFixed(1)} %`, status.waitPercent >= 5 ? 'warning' : 'plain'),
  ]
  return [between(first, atRight, columns), between(second, [], columns)]
}

function bodyLines(scene: RegionScene, room: number): Line[] {
  const { regions, columns } = scene
  const selected = Math.max(0, Math.min(scene.selected, regions.length - 1))
  const lines: Line[] = [
    [run(pad('   count    rate/s     mean      p50      p99      max  region', columns), 'header')],
  ]
  const first = Math.max(0, Math.min(selected - 2, regions.length - TABLE_ROWS))
  const shown = regions.slice(first, first + TABLE_ROWS)
  for (const [i, region] of shown.entries()) lines.push(tableRow(scene, region, first + i === selected))
  const region = regions[selected]
  if (region === undefined) return lines
  lines.push([], [run(` ${cut(fullName(scene, region), columns - 1)}`, 'title')])
  if (region.count === 0) return [...lines, [run(' has not been executed yet', 'dim')]]
  const glyphs = scene.unicode ? BARS : ASCII_BARS
  const below = [timesLine(region, glyphs), ...courseLines(region, columns, glyphs)]
  const rows = Math.max(3, room - lines.length - below.length - 1)
  return [...lines, below[0]!, ...histogram(region, rows, columns, glyphs), [], ...below.slice(1)]
}

function fullName({ methodName }: RegionScene, region: RegionTimes): string {
  return signature(methodName(region.method)) + linesText(region)
}

function tableRow(scene: RegionScene, region: RegionTimes, isSelected: boolean): Line {
  const glyphs = scene.unicode ? BARS : ASCII_BARS
  const { percentilesNs: p } = region
  const times = [region.meanNs, p['50'], p['99'], region.maxNs]
  const numbers = [
    right(count(region.count, 8), 8),
    right(shortRate(rateNow(region)), 10),
    ...times.map((ns) => right(region.count === 0 ? '-' : time(ns, glyphs), 9)),
  ].join('')
  const name = regionName(scene.methodName(region.method), region, scene.columns - NUMBER_CELLS)
  const text = `${numbers}  ${name}`
  return [
    run(isSelected ? pad(text, scene.columns) : cut(text, scene.columns), isSelected ? 'selected' : 'plain'),
  ]
}

function timesLine(region: RegionTimes, glyphs: BarGlyphs): Line {
  const { percentilesNs: p } = region
  const all: readonly (readonly [string, number])[] = [
    ['min', region.minNs],
    ['p90', p['90']],
    ['p99.9', p['99.9']],
    ['p99.99', p['99.99']],
    ['in all', region.totalNs],
  ]
  return all.flatMap(([label, ns]) => [run(` ${label} `, 'dim'), run(pad(time(ns, glyphs), 8))])
}

function histogram(region: RegionTimes, rows: number, columns: number, glyphs: BarGlyphs): Line[] {
  const found = barRows(region.buckets, rows)
  const most = Math.max(...found.map((it) => it.count))
  return found.map((row) => [
    run(`${right(time(row.fromNs, glyphs), 9)} ${right(time(row.toNs, glyphs), 9)} `, 'dim'),
    run(`${right(count(row.count, 9), 9)} ${right(percent(row.count, region.count), 5)} % `),
    run(bar(row.count / most, columns - 39, glyphs), 'good'),
  ])
}

/** All but the last interval, which is not over. */
function whole({ intervals }: RegionTimes): RegionTimes['intervals'] {
  return intervals.length > 1 ? intervals.slice(0, -1) : intervals
}

function rateNow(region: RegionTimes): number {
  const latest = whole(region).slice(-Math.max(1, Math.round(NOW_MS / region.intervalMs)))
  if (latest.length === 0) return 0
  return (latest.reduce((sum, it) => sum + it.count, 0) * 1000) / (latest.length * region.intervalMs)
}

function shortRate(rate: number): string {
  return rate < 1000 ? perSecond(rate) : shortCount(rate)
}

/** As many intervals as fit, the latest at the right. */
function courseLines(region: RegionTimes, columns: number, glyphs: BarGlyphs): Line[] {
  const shown = whole(region).slice(-(columns - 34))
  const counts = shown.map((it) => it.count)
  const means = shown.map((it) => (it.count === 0 ? 0 : it.totalNs / it.count))
  const longest = shown.map((it) => it.maxNs)
  const most = Math.max(0, ...counts)
  const course = (label: string, values: readonly number[], text: string): Line => [
    run(` ${pad(label, 8)}`, 'dim'),
    run(sparkline(values, glyphs), 'good'),
    run(`  ${text}`, 'dim'),
  ]
  const latest = region.lastNs.slice(-8).map((ns) => time(ns, glyphs))
  return [
    course('rate', counts, `most ${shortRate((most * 1000) / region.intervalMs)}/s`),
    course('mean', means, `most ${time(Math.max(0, ...means), glyphs)}`),
    course(
      'longest',
      longest,
      `most ${time(Math.max(0, ...longest), glyphs)}; a sign is ${span(region.intervalMs)}`,
    ),
    [run(` ${pad('latest', 8)}`, 'dim'), run(cut(latest.join('  '), columns - 9))],
  ]
}

function pageLines({ columns, status }: RegionScene, page: RegionPage): Line[] {
  if (page === 'help')
    return REGION_KEYS.map(([label, help]) => [run(` ${pad(label, 10)}`, 'key'), run(help)])
  if (status.warnings.length === 0) return [[run(' no warnings', 'dim')]]
  return status.warnings.flatMap((warning) =>
    wrap(clean(warning), columns - 4).map(
      (text, i): Line => [run(i === 0 ? ' ! ' : '   ', 'warning'), run(text)],
    ),
  )
}

function messageLine({ columns, ended, notice, status, page }: RegionScene): Line {
  if (notice !== undefined) return [run(` ${cut(clean(notice), columns - 2)}`, 'warning')]
  if (ended !== undefined) {
    const text = ` The session has ended: ${clean(ended)}. q leaves and prints the report`
    return [run(cut(text, columns), 'error')]
  }
  if (page !== undefined) return [run(' Esc closes this page', 'dim')]
  if (status.message !== undefined) return [run(` ${cut(clean(status.message), columns - 2)}`, 'warning')]
  return []
}

function keyLine(columns: number): Line {
  const line: Run[] = []
  let cells = 0
  for (const [label, , short] of REGION_KEYS) {
    if (short === '') continue
    const entry = [run(` ${label.split(' ')[0]!}`, 'key'), run(` ${short} `, 'dim')]
    cells += entry.reduce((sum, it) => sum + width(it.text), 0)
    if (cells > columns) break
    line.push(...entry)
  }
  return line
}
