// The live view of regions as lines with styles. Pure: the same scene gives the same lines.
//
// From top to bottom: two status lines, one line per region, details of the selected region (times, histogram, charts over time), one line
// for messages, one line of keys.

import { maxOf } from '../base/arrays.ts'
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
import { count, cut, pad, percent, right, shortCount, signature, span } from './format.ts'
import {
  BOTTOM_LINES,
  between,
  dumpLines,
  type FrameScene,
  identityLine,
  keyLine,
  keyLines,
  messageLine,
  run,
  say,
  screenLines,
  warningLines,
} from './frame-lines.ts'
import { REGION_BINDINGS, type SessionPage } from './keys.ts'
import type { Pages } from './pages.ts'
import type { Line } from './screen.ts'
import type { ThreadPage } from './thread-page.ts'

/** Number of status lines. */
const TOP_LINES = 2

export interface RegionScene extends FrameScene {
  readonly regions: readonly RegionTimes[]
  /** Index of the region that is shown in detail. */
  readonly selected: number
  /** Overhead of the probes per execution of a region. */
  readonly overheadNs: number
  readonly methodName: (id: number) => MethodName
  readonly pages: Pages<SessionPage>
  readonly dump: ThreadPage
}

/** Maximum number of table rows. The table scrolls with the selection. */
const TABLE_ROWS = 5
/** Width of the number columns of a table row, in cells. */
const NUMBER_CELLS = 56
/** The current rate is the average over this last part of the recording. */
const RATE_DURATION_MS = 2000

/** Returns the number of lines between the status lines and the bottom lines. */
export function regionRoom({ rows }: FrameScene): number {
  return rows - TOP_LINES - BOTTOM_LINES
}

export function regionSceneLines(scene: RegionScene): Line[] {
  const { shown } = scene.pages
  const room = regionRoom(scene)
  const all = shown === undefined ? 0 : pageLines(scene, shown).length
  return screenLines(scene, scene.pages, {
    status: () => statusLines(scene),
    rows: () => bodyLines(scene, room),
    page: (name) => pageLines(scene, name),
    bottom: () => [
      messageLine(scene, scene.pages, all, room) ?? hintLine(scene),
      keyLine(REGION_BINDINGS, scene),
    ],
  })
}

export function pageLines(scene: RegionScene, page: SessionPage): Line[] {
  switch (page) {
    case 'help':
      return keyLines(REGION_BINDINGS, scene)
    case 'warnings':
      return warningLines(scene)
    case 'dump':
      return dumpLines(scene.dump, scene)
  }
}

function hintLine({ columns, status }: RegionScene): Line {
  return status.message === undefined ? [] : say(status.message, 'warning', columns)
}

function statusLines(scene: RegionScene): Line[] {
  const { columns, status, overheadNs } = scene
  const isFile = status.phase === 'file'
  const second = [
    run(' region times  ', 'dim'),
    run(shortCount(isFile ? status.events : status.eventsPerSecond)),
    run(isFile ? ' executions  ' : ' executions/s  ', 'dim'),
    run(`${overheadNs.toFixed(0)} ns`),
    run(' probe cost each  stalled ', 'dim'),
    run(`${status.waitPercent.toFixed(1)} %`, status.waitPercent >= 5 ? 'warning' : 'plain'),
  ]
  const doing = status.phase === 'recording' ? 'recording' : 'waiting'
  return [identityLine(scene, doing), between(second, [], columns)]
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
  if (region.count === 0) return [...lines, [run(' not executed yet', 'dim')]]
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
    right(shortRate(rateOf(scene, region)), 10),
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
    ['total', region.totalNs],
  ]
  return all.flatMap(([label, ns]) => [run(` ${label} `, 'dim'), run(pad(time(ns, glyphs), 8))])
}

function histogram(region: RegionTimes, rows: number, columns: number, glyphs: BarGlyphs): Line[] {
  const found = barRows(region.buckets, rows)
  const most = maxOf(found.map((it) => it.count))
  return found.map((row) => [
    run(`${right(time(row.fromNs, glyphs), 9)} ${right(time(row.toNs, glyphs), 9)} `, 'dim'),
    run(`${right(count(row.count, 9), 9)} ${right(percent(row.count, region.count), 5)} % `),
    run(bar(row.count / most, columns - 39, glyphs), 'good'),
  ])
}

/** Returns all intervals except the last interval, which is incomplete. */
function whole({ intervals }: RegionTimes): RegionTimes['intervals'] {
  return intervals.length > 1 ? intervals.slice(0, -1) : intervals
}

/** Returns the current rate, or for a file the average rate of the recording. */
function rateOf({ status }: RegionScene, region: RegionTimes): number {
  if (status.phase !== 'file') return rateNow(region)
  return status.elapsedMs > 0 ? (region.count * 1000) / status.elapsedMs : 0
}

function rateNow(region: RegionTimes): number {
  const latest = whole(region).slice(-Math.max(1, Math.round(RATE_DURATION_MS / region.intervalMs)))
  if (latest.length === 0) return 0
  return (latest.reduce((sum, it) => sum + it.count, 0) * 1000) / (latest.length * region.intervalMs)
}

function shortRate(rate: number): string {
  return rate < 1000 ? perSecond(rate) : shortCount(rate)
}

/** Returns charts of the last intervals, as many as fit. The latest interval is at the right. */
function courseLines(region: RegionTimes, columns: number, glyphs: BarGlyphs): Line[] {
  const shown = whole(region).slice(-(columns - 34))
  const counts = shown.map((it) => it.count)
  const means = shown.map((it) => (it.count === 0 ? 0 : it.totalNs / it.count))
  const longest = shown.map((it) => it.maxNs)
  const most = maxOf(counts, 0)
  const course = (label: string, values: readonly number[], text: string): Line => [
    run(` ${pad(label, 8)}`, 'dim'),
    run(sparkline(values, glyphs), 'good'),
    run(`  ${text}`, 'dim'),
  ]
  const latest = region.lastNs.slice(-8).map((ns) => time(ns, glyphs))
  return [
    course('rate', counts, `max ${shortRate((most * 1000) / region.intervalMs)}/s`),
    course('mean', means, `max ${time(maxOf(means, 0), glyphs)}`),
    course('longest', longest, `max ${time(maxOf(longest, 0), glyphs)}; one bar: ${span(region.intervalMs)}`),
    [run(` ${pad('latest', 8)}`, 'dim'), run(cut(latest.join('  '), columns - 9))],
  ]
}
