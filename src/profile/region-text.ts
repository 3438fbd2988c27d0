// Text form of a region's durations: times, a histogram with a few rows, and a sparkline of the course over time.

import { maxOf } from '../base/arrays.ts'
import type { TimeBucket } from '../regions/times.ts'

export interface BarGlyphs {
  /** Eight glyphs that fill one eighth to eight eighths of a cell. */
  readonly levels: readonly string[]
  readonly micro: string
}

export const BARS: BarGlyphs = { levels: [...'▁▂▃▄▅▆▇█'], micro: 'µ' }
export const ASCII_BARS: BarGlyphs = { levels: [...'.:-=+*#@'], micro: 'u' }

/** Formats a duration in at most eight cells with three significant digits: "850 ns", "1.23 µs", "12.3 ms", "4.56 s", "2:03 h". */
export function time(ns: number, { micro } = BARS): string {
  if (!Number.isFinite(ns) || ns < 0) return '-'
  if (ns < 99.5) return `${ns < 9.95 && ns > 0 ? ns.toFixed(1) : ns.toFixed(0)} ns`
  let value = ns
  for (const unit of ['ns', `${micro}s`, 'ms', 's']) {
    if (value < 999.5 || unit === 's') {
      if (value >= 5999.5) break
      return `${value.toFixed(value < 9.995 ? 2 : value < 99.95 ? 1 : 0)} ${unit}`
    }
    value /= 1000
  }
  const minutes = Math.round(ns / 60e9)
  return `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, '0')} h`
}

/** Formats a number of executions per second: "0.25", "12.3", "41,200". */
export function perSecond(rate: number): string {
  if (!Number.isFinite(rate)) return '-'
  if (rate === 0) return '0'
  if (rate < 0.01) return rate.toExponential(0)
  return rate < 9.995 ? rate.toFixed(2) : rate < 99.95 ? rate.toFixed(1) : rate.toFixed(0)
}

/** A row of a histogram. */
export interface BarRow {
  readonly fromNs: number
  readonly toNs: number
  readonly count: number
}

const STEPS = [[1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8], [1, 1.5, 2, 3, 5, 7], [1, 2, 5], [1, 3], [1]] as const
/** The last row begins at about this share of all executions. It also contains all outliers, so that the other rows stay narrow. */
const LAST_ROW = 0.999

/**
 * Groups the buckets into at most `rows` (2 or more) rows with round bounds. Chooses the narrowest rows that fit. The last row includes the
 * last bucket.
 */
export function barRows(buckets: readonly TimeBucket[], rows: number): BarRow[] {
  if (buckets.length === 0) return []
  const middle = ([from, to]: TimeBucket) => (from + to) / 2
  const bounds = boundsFor(middle(buckets[0]!), middle(bucketAt(buckets, LAST_ROW)), rows)
  const found = bounds.slice(1).map((toNs, i) => ({ fromNs: bounds[i]!, toNs, count: 0 }))
  const last = found.at(-1)!
  last.toNs = Math.max(last.toNs, buckets.at(-1)![1])
  let at = 0
  for (const bucket of buckets) {
    while (at + 1 < found.length && middle(bucket) >= found[at]!.toNs) at++
    found[at]!.count += bucket[2]
  }
  return found
}

function bucketAt(buckets: readonly TimeBucket[], part: number): TimeBucket {
  let left = part * buckets.reduce((sum, [, , executions]) => sum + executions, 0)
  for (const bucket of buckets) {
    left -= bucket[2]
    if (left <= 0) return bucket
  }
  return buckets.at(-1)!
}

/** Returns increasing bounds that include `least` and `most`. If there are more decades than rows, the shortest durations share one row. */
function boundsFor(least: number, most: number, rows: number): number[] {
  let bounds: number[] = []
  for (const step of STEPS) {
    bounds = boundsAround(least, most, step)
    if (bounds.length - 1 <= rows) return bounds
  }
  return [bounds[0]!, ...bounds.slice(-rows)]
}

function boundsAround(least: number, most: number, step: readonly number[]): number[] {
  let bounds = least < 1 ? [0] : []
  for (let decade = least < 1 ? 1 : 10 ** Math.floor(Math.log10(least) + 1e-9); ; decade *= 10) {
    for (const factor of step) {
      const bound = decade * factor
      if (bound <= least) bounds = [bound]
      else bounds.push(bound)
      if (bound > most) return bounds
    }
  }
}

/** Draws a bar of at most `cells`, in eighths of a cell. The bar of a nonzero value has at least one eighth. */
export function bar(part: number, cells: number, { levels }: BarGlyphs): string {
  if (!(part > 0)) return ''
  const isAscii = levels[0] === '.'
  if (isAscii) return '#'.repeat(Math.max(1, Math.round(part * cells)))
  const eighths = Math.max(1, Math.round(part * cells * 8))
  const rest = eighths % 8
  return (
    '█'.repeat(Math.floor(eighths / 8)) + (rest === 0 ? '' : ['▏', '▎', '▍', '▌', '▋', '▊', '▉'][rest - 1]!)
  )
}

/** Draws one character per value. The largest value has full height, and 0 is a blank. */
export function sparkline(values: readonly number[], { levels }: BarGlyphs, largest = maxOf(values)): string {
  return values
    .map((value) => {
      if (!(value > 0) || !(largest > 0)) return ' '
      return levels[Math.min(levels.length - 1, Math.floor((value / largest) * (levels.length - 0.01)))]!
    })
    .join('')
}

/** Splits `values` into at most `cells` groups of consecutive values. */
export function gathered<T>(values: readonly T[], cells: number): T[][] {
  const size = Math.max(1, Math.ceil(values.length / cells))
  const groups: T[][] = []
  for (let i = 0; i < values.length; i += size) groups.push(values.slice(i, i + size))
  return groups
}
