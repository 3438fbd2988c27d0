// Latency of root calls, of one profile or of two: percentiles and a histogram.

import { type CallBucket, ROOT_PERCENTILES, type RootCallTimes } from '../../../cct/root-calls.ts'
import { type BarRow, barRows } from '../../../profile/region-text.ts'
import { callCost } from '../../../profile/root-calls.ts'
import { plural } from '../../../profile/text.ts'
import type { PageList, PageRow } from '../page-data.ts'

/** Maximum number of rows of the histogram. */
const MAX_BARS = 30

export function latencyLists(rootCalls: RootCallTimes | undefined): PageList[] {
  if (rootCalls === undefined || rootCalls.count === 0) return []
  return [percentiles(rootCalls), histogram(rootCalls)]
}

function percentiles(rootCalls: RootCallTimes): PageList {
  return {
    title: `Latency of ${plural(rootCalls.count, 'root call')}`,
    notes: [ACCURACY],
    columns: [['duration', 'duration of a root call', 'cost']],
    head: 'percentile',
    rows: durationRows((value) => [value(rootCalls)]),
  }
}

const ACCURACY = 'Percentiles are accurate to 0.4 %. Unfinished calls are not counted.'

/** Returns the rows of percentiles. @param cells  returns the cells of a row, whose value the given function reads */
function durationRows(cells: (value: (of: RootCallTimes) => number) => number[]): PageRow[] {
  return [
    [0, 'minimum', '', ...cells(({ min }) => min)],
    ...ROOT_PERCENTILES.map(
      (it): PageRow => [
        ...([0, `p${it}`, it === '50' ? 'median' : ''] as const),
        ...cells(({ percentiles: values }) => values[it]),
      ],
    ),
    [0, 'maximum', '', ...cells(({ max }) => max)],
    [0, 'mean', '', ...cells(({ mean }) => mean)],
  ]
}

/** Returns the lists of a comparison; empty if a profile has no durations, or if their units differ. */
export function latencyChangeLists(
  before: RootCallTimes | undefined,
  after: RootCallTimes | undefined,
): PageList[] {
  if (before === undefined || after === undefined || before.unit !== after.unit) return []
  if (before.count === 0 || after.count === 0) return []
  const counts = `${plural(before.count, 'root call')} before, ${plural(after.count, 'root call')} after`
  return [
    {
      title: `Latency of ${counts}`,
      notes: [ACCURACY],
      columns: [
        ['before', 'of the earlier profile', 'cost'],
        ['after', 'of the later profile', 'cost'],
        ['change', 'after minus before', 'change'],
      ],
      head: 'percentile',
      rows: durationRows((value) => [value(before), value(after), value(after) - value(before)]),
    },
    changedHistogram(before, after),
  ]
}

function changedHistogram(before: RootCallTimes, after: RootCallTimes): PageList {
  const all = [...before.buckets, ...after.buckets].sort(([a], [b]) => a - b)
  const bars = durationBars(all)
  const shares = ({ buckets, count }: RootCallTimes): number[] => {
    const found = bars.map(() => 0)
    for (const [from, to, calls] of buckets) found[barOf(from, to, bars)]! += (100 * calls) / count
    return found
  }
  const [one, other] = [shares(before), shares(after)]
  return {
    title: 'Distribution',
    notes: ['Shares of the root calls of each profile.'],
    columns: [
      ['% before', 'share of the root calls of the earlier profile', 'percent'],
      ['% after', 'share of the root calls of the later profile', 'percent'],
    ],
    head: 'duration',
    rows: bars.map(
      ({ fromNs: from, toNs: to }, index): PageRow => [
        ...([0, `${callCost(from, after.unit)} to ${callCost(to, after.unit)}`, ''] as const),
        ...[one[index]!, other[index]!],
      ],
    ),
    bar: 1,
  }
}

/** Returns the rows of a distribution. */
export function durationBars(buckets: readonly CallBucket[]): BarRow[] {
  return barRows(buckets, MAX_BARS)
}

/** Returns the index of the bar that contains the middle of a bucket, as `barRows` assigns it. */
export function barOf(from: number, to: number, bars: readonly BarRow[]): number {
  const found = bars.findIndex(({ toNs }) => (from + to) / 2 < toNs)
  return found < 0 ? bars.length - 1 : found
}
function histogram({ buckets, count, unit }: RootCallTimes): PageList {
  let below = 0
  const rows = durationBars(buckets).map(({ fromNs: from, toNs: to, count: calls }): PageRow => {
    below += calls
    const name = `${callCost(from, unit)} to ${callCost(to, unit)}`
    return [0, name, '', calls, (100 * calls) / count, (100 * below) / count]
  })
  return {
    title: 'Distribution',
    notes: [],
    columns: [
      ['calls', 'number of root calls with this duration', 'count'],
      ['%', 'share of all root calls', 'percent'],
      ['% up to', 'share of the root calls that took at most this long', 'percent'],
    ],
    head: 'duration',
    rows,
    bar: 0,
  }
}
