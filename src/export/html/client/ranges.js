// Time ranges: the sum of the segments of the recording that the user selects. ../page-data.ts defines the layout of the segments.

import { anywhereOf, data, inflated, treeFrom } from './data.js'
import { secondsText } from './format.js'

/** @import { PageRanges } from '../page-data.ts' */
/** @import { Tree } from './data.js' */

/**
 * A time range, rounded to segments. `rows`: segments with the costs of the tree, which are those of the longest epoch.
 *
 * @typedef {object} Range
 * @property {number} fromMs
 * @property {number} toMs
 * @property {readonly number[]} segments  indices of segments
 * @property {readonly number[]} rows
 */

/**
 * Durations of the root calls of a range, as `RootCallTimes`.
 *
 * @typedef {object} RangeCalls
 * @property {number} count
 * @property {number} min
 * @property {number} mean
 * @property {number} max
 * @property {(percent: number) => number} percentile
 * @property {number[]} bars  number of calls per row of the distribution
 */

/**
 * Returns the segments between two times, selected as for a report of the range; undefined if there are none.
 *
 * @param {number} fromMs
 * @param {number} toMs
 * @returns {Range | undefined}
 */
export function rangeOf(fromMs, toMs) {
  const { segments: all = [], leastPart = 0 } = data.ranges ?? {}
  const touched = [...all.keys()].filter((it) => all[it].toMs > fromMs && all[it].fromMs < toMs)
  const inside = touched.filter((it) => {
    const { fromMs: begin, toMs: end } = all[it]
    return Math.min(end, toMs) - Math.max(begin, fromMs) >= leastPart * (end - begin)
  })
  const segments = inside.length > 0 ? inside : touched
  if (segments.length === 0) return undefined
  /** @type {Map<number, number>} */
  const lengths = new Map()
  for (const it of segments) {
    const { epoch, fromMs: begin, toMs: end } = all[it]
    lengths.set(epoch, (lengths.get(epoch) ?? 0) + end - begin)
  }
  const [[longest]] = [...lengths].sort(([, a], [, b]) => b - a)
  const rows = segments.filter((it) => all[it].epoch === longest)
  return { fromMs: all[segments[0]].fromMs, toMs: all[segments[segments.length - 1]].toMs, segments, rows }
}

/**
 * Describes a range.
 *
 * @param {Range} range
 */
export function rangeText({ fromMs, toMs, segments, rows }) {
  const { segments: all = [], ofMs = 0, segmentMs = 0 } = data.ranges ?? {}
  const rounded = `${secondsText(fromMs)} to ${secondsText(toMs)} of ${secondsText(ofMs)} (rounded to segments of ${secondsText(segmentMs)}), all threads together.`
  if (rows.length === segments.length) return rounded
  const [first, last] = [all[rows[0]], all[rows[rows.length - 1]]]
  return `${rounded} The set of timed methods changed: rows are of ${secondsText(first.fromMs)} to ${secondsText(last.toMs)}, latency is of the whole range.`
}

/** @type {Promise<SegmentArrays> | undefined} */
let segmentArrays

/**
 * @typedef {object} SegmentArrays
 * @property {Int32Array} method
 * @property {Int32Array} size
 * @property {{ node: Int32Array, columns: Float64Array[] }[]} segments
 */

/**
 * @param {PageRanges} ranges
 * @returns {Promise<SegmentArrays>}
 */
async function decodeSegments({ columns, count, segments }) {
  const buffer = await inflated('block-ranges')
  let at = 0
  const found = segments.map(({ rows }) => ({
    node: new Int32Array(0),
    columns: columns.map(() => {
      at += 8 * rows
      return new Float64Array(buffer, at - 8 * rows, rows)
    }),
  }))
  const integers = /** @param {number} length */ (length) => {
    at += 4 * length
    return new Int32Array(buffer, at - 4 * length, length)
  }
  const [method, size] = [integers(count), integers(count)]
  for (const [index, { rows }] of segments.entries()) found[index].node = integers(rows)
  return { method, size, segments: found }
}

/**
 * Returns the tree of a range. Contexts without costs in the range are not in the tree.
 *
 * @param {Range} range
 * @returns {Promise<Tree>}
 */
export async function treeOfRange({ rows }) {
  const { ranges } = data
  if (ranges === undefined) throw new Error('the page has no time ranges')
  segmentArrays ??= decodeSegments(ranges)
  const { method, size, segments } = await segmentArrays
  const sums = ranges.columns.map(() => new Float64Array(ranges.count))
  const isShown = new Uint8Array(ranges.count)
  for (const segment of rows) {
    const { node, columns } = segments[segment]
    for (let row = 0; row < node.length; row++) {
      isShown[node[row]] = 1
      for (let column = 0; column < columns.length; column++) sums[column][node[row]] += columns[column][row]
    }
  }
  const nodes = Int32Array.from(isShown.keys()).filter((it) => isShown[it] === 1)
  const before = new Int32Array(ranges.count + 1)
  for (let node = 0; node < ranges.count; node++) before[node + 1] = before[node] + isShown[node]
  /** @type {{ [name: string]: Float64Array }} */
  const columns = {}
  for (const [index, name] of ranges.columns.entries())
    columns[name] = Float64Array.from(nodes, (it) => sums[index][it])
  const { variance, ...shown } = columns
  // A timed row has no variance.
  if (variance !== undefined) shown.sd = variance.map((it) => (it > 0 ? Math.sqrt(it) : -1))
  const names = nodes.map((it) => method[it])
  const head = {
    ...{ title: '', block: '', count: nodes.length, columns: Object.keys(shown), leftOut: ranges.leftOut },
    ...{ hotColumns: ['calls', 'self', 'total'], hot: [], hotLeftOut: 0 },
  }
  const tree = treeFrom(
    head,
    shown,
    names,
    nodes.map((it) => before[it + size[it]] - before[it]),
    undefined,
  )
  return { ...tree, head: { ...head, hot: hotOf(tree) } }
}

/**
 * Returns the methods with their calls, own costs, and total costs of outermost activations, largest own cost first.
 *
 * @param {Tree} tree
 */
function hotOf({ count, method, size, columns: { calls, self, total } }) {
  /** @type {Map<number, number[]>} */
  const rows = new Map()
  /** End of the outermost activation, per method. @type {Map<number, number>} */
  const ends = new Map()
  for (let node = 0; node < count; node++) {
    const it = anywhereOf(method[node])
    const row = rows.get(it) ?? [it, 0, 0, 0]
    rows.set(it, row)
    row[1] += calls[node]
    row[2] += self[node]
    if (node < (ends.get(it) ?? 0)) continue
    ends.set(it, node + size[node])
    row[3] += total[node]
  }
  return [...rows.values()].sort((a, b) => b[2] - a[2])
}

/**
 * @param {Range} range
 * @returns {RangeCalls}
 */
export function callsOfRange({ segments }) {
  const { segments: all = [], durations = [] } = data.ranges ?? {}
  const counts = new Float64Array(durations.length)
  let sum = 0
  for (const it of segments) {
    sum += all[it].calls.sum
    for (const [duration, count] of all[it].calls.buckets) counts[duration] += count
  }
  // A count is negative if a late pause has moved a call that ended before the range.
  const shown = [...counts.keys()]
    .filter((it) => counts[it] > 0)
    .sort((a, b) => durations[a][0] - durations[b][0])
  const count = shown.reduce((sum, it) => sum + counts[it], 0)
  const [min, max] = count === 0 ? [0, 0] : [durations[shown[0]][0], durations[shown[shown.length - 1]][1]]
  const bars = durations.reduce((most, [, , bar]) => Math.max(most, bar + 1), 0)
  const byBar = new Array(bars).fill(0)
  for (const it of shown) byBar[durations[it][2]] += counts[it]
  return {
    ...{ count, min, max, mean: count === 0 ? 0 : sum / count, bars: byBar },
    percentile(percent) {
      let left = Math.max(1, Math.ceil((percent / 100) * count - 1e-9 * count))
      const found = shown.find((it) => {
        left -= counts[it]
        return left <= 0
      })
      return found === undefined ? 0 : (durations[found][0] + durations[found][1]) / 2
    },
  }
}
