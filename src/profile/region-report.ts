// Text report of regions: one table, then for each region a histogram, the course over time, and the latest durations.

import { maxOf } from '../base/arrays.ts'
import type { MethodName } from '../cct/tree.ts'
import { nameOf, type Profile, type RegionTimes } from './profile.ts'
import { BARS, bar, barRows, gathered, perSecond, sparkline, time } from './region-text.ts'
import type { Page } from './report/page.ts'
import { count, cut, pad, percent, right, shortName, signature, span } from './text.ts'

const ROWS = 12
const LATEST = 8
/** Percentiles shown in the section of a region. */
const SHOWN = ['50', '90', '99', '99.9', '99.99'] as const

/** Returns "shop.OrderService.process", followed by ":120-140" if the region is a range of lines. */
export function regionName(method: MethodName, region: RegionTimes, cells: number): string {
  const lines = linesText(region)
  return shortName(method, Math.max(8, cells - lines.length)) + lines
}

export function linesText({ lines }: Pick<RegionTimes, 'lines'>): string {
  if (lines === null) return ''
  return lines.from === lines.to ? `:${lines.from}` : `:${lines.from}-${lines.to}`
}

/** Returns executions per second over the recording. */
export function rateOf(region: RegionTimes, durationMs: number): number {
  return durationMs > 0 ? (region.count * 1000) / durationMs : 0
}

/** Yields the lines of the report. Each line ends with a line feed. */
export function* regionLines(page: Page): Generator<string> {
  const { profile, width, paint } = page
  const regions = profile.regions ?? []
  if (regions.length === 0) {
    yield '\nNothing was recorded: no region has code in a class that was loaded.\n'
    return
  }
  yield `\n${paint('bold', 'Gross time of regions')}\n`
  yield `${paint('dim', '    count      rate/s      mean       p50       p99       max  region')}\n`
  for (const region of regions) {
    const { percentilesNs: p } = region
    const times = [region.meanNs, p['50'], p['99'], region.maxNs]
    const numbers = [
      right(count(region.count, 9), 9),
      right(perSecond(rateOf(region, profile.durationMs)), 12),
      ...times.map((ns) => right(region.count === 0 ? '-' : time(ns), 10)),
    ].join('')
    yield `${numbers}  ${regionName(nameOf(profile.methodNames, region.method), region, Math.max(16, width - 63))}\n`
  }
  for (const region of regions) if (region.count > 0) yield* details(page, region)
}

/** Returns the width of a drawing in cells. A pipe has unlimited width, and gets drawings of 80 cells. */
const drawingCells = (width: number): number => (Number.isFinite(width) ? width : 80)

function* details({ profile, width, paint }: Page, region: RegionTimes): Generator<string> {
  const { percentilesNs: p, buckets, intervals, intervalMs, lastNs } = region
  const title = signature(nameOf(profile.methodNames, region.method)) + linesText(region)
  yield `\n${paint('bold', cut(title, width))}\n`
  const facts = (times: { readonly [label: string]: number }) =>
    Object.entries(times)
      .map(([label, ns]) => `${paint('dim', label)} ${pad(time(ns), 9)}`)
      .join(' ')
  yield `  ${facts({ min: region.minNs, mean: region.meanNs, max: region.maxNs })} ${paint('dim', 'total')} ${time(region.totalNs)}\n`
  const percentiles = Object.fromEntries(SHOWN.map((it) => [`p${it}`, p[it]]))
  yield `  ${facts(percentiles).trimEnd()}\n\n`
  const rows = barRows(buckets, ROWS)
  const most = maxOf(rows.map((it) => it.count))
  for (const row of rows) {
    const bounds = `${right(time(row.fromNs), 9)} ${right(time(row.toNs), 9)}`
    const share = right(percent(row.count, region.count), 6)
    const drawn = bar(row.count / most, Math.max(10, drawingCells(width) - 42), BARS)
    yield `${paint('dim', bounds)}${right(count(row.count, 11), 12)} ${share} %${drawn === '' ? '' : ` ${paint('heat', drawn)}`}\n`
  }
  const cells = drawingCells(width) - 12
  const groups = gathered(intervals, cells)
  const counts = groups.map((group) => group.reduce((sum, it) => sum + it.count, 0))
  const longest = groups.map((group) => maxOf(group.map((it) => it.maxNs)))
  const each = span(intervalMs * (groups[0]?.length ?? 1))
  yield `\n${paint('dim', 'count     ')}${sparkline(counts, BARS)}\n`
  yield `${paint('dim', 'longest   ')}${sparkline(longest, BARS)}  ${paint('dim', `each bar is ${each}`)}\n`
  // Each value needs at most eight cells, plus two blanks.
  const latest = lastNs.slice(-Math.min(LATEST, Math.floor((cells + 4) / 10))).map((ns) => time(ns))
  yield `${paint('dim', 'latest    ')}${latest.join('  ')}\n`
}

/** Returns the regions of a profile for JSON; keys as in docs/profile-json.md. */
export function regionFacts(profile: Profile): object[] {
  return (profile.regions ?? []).map((it) => {
    const { region, method, lines, buckets, lastNs, intervals, ...durations } = it
    const name = nameOf(profile.methodNames, method)
    return {
      region,
      class: name.class,
      loader: name.loader,
      method: name.method,
      descriptor: name.descriptor,
      lines,
      ...durations,
      ratePerSecond: rateOf(it, profile.durationMs),
      buckets: buckets.map(([fromNs, toNs, executions]) => ({ fromNs, toNs, count: executions })),
      intervals,
      lastNs,
    }
  })
}

/** Returns the number of executions of all regions. */
export function executions(profile: Profile): number {
  return (profile.regions ?? []).reduce((sum, it) => sum + it.count, 0)
}
