// Time ranges of the page: one tree with the contexts of all segments, and for each segment the costs of its contexts. The page adds the
// segments of the range that the user selects.
//
// The costs of a segment are those of its own profile (profile/range.ts), so that a range of the page has the numbers of a report.

import { deflateRawSync } from 'node:zlib'
import { costsOf, metricOf } from '../../cct/metric.ts'
import type { RootCallTimes } from '../../cct/root-calls.ts'
import type { Tree } from '../../cct/tree.ts'
import { column, type Profile } from '../../profile/profile.ts'
import { prune } from '../../profile/prune.ts'
import { LEAST_PART, ofRange } from '../../profile/range.ts'
import type { BarRow } from '../../profile/region-text.ts'
import { hasSampledRows, sampledRow } from '../../profile/sampled-rows.ts'
import { keptNodes, keptSizes } from './block.ts'
import { CommonTree } from './common-tree.ts'
import type { PageRanges } from './page-data.ts'
import { barOf, durationBars } from './tabs/latency.ts'

/** Maximum number of rows of all segments together; contexts with low cost are omitted above it. A row has 28 bytes before compression. */
const MAX_SEGMENT_ROWS = 2 ** 18

export interface Ranges {
  readonly data: PageRanges
  /** Returns the block of the segments. */
  readonly bytes: () => Uint8Array
}

interface SegmentRows {
  /** Context of the common tree, per row. */
  readonly node: Int32Array
  readonly columns: readonly Float64Array[]
}

/**
 * Returns the time ranges of a page; undefined if the profile has fewer than two segments.
 * @param numberOf  returns the number of a method id's name on the page
 * @param most      maximum number of contexts
 */
export function rangesOf(
  profile: Profile,
  numberOf: (id: number) => number,
  most: number,
): Ranges | undefined {
  const parts = (profile.segments?.segments ?? []).filter(({ beginMs, endMs }) => endMs > beginMs)
  if (profile.segments === undefined || parts.length < 2) return undefined
  const profiles = parts.map(({ beginMs, endMs }) => ofRange(profile, { fromMs: beginMs, toMs: endMs }, ''))
  const isSampled = profiles.some(({ merged }) => hasSampledRows(merged))
  const names = ['calls', 'self', 'total', ...(isSampled ? ['variance'] : [])]
  const common = new CommonTree()
  const found = profiles.map(({ merged }): SegmentRows => {
    const { self, total } = costsOf(merged)
    const columns = [column(merged, 'calls'), self, total, ...(isSampled ? [varianceOf(merged)] : [])]
    return { node: common.add(merged, numberOf), columns }
  })
  const { method, parent, size, place } = common.inPreorder()
  const segments = found.map(({ node, columns }) => ({ node: node.map((it) => place[it]!), columns }))
  const { kept, rows } = keptRows({ method, parent, size }, segments, metricOf(profile.merged), most)
  const nodes = Int32Array.from(keptNodes(kept))
  const durations = new Durations(durationBars(profile.rootCalls?.buckets ?? []))
  return {
    data: {
      segmentMs: profile.segments.widthMs,
      leastPart: LEAST_PART,
      ofMs: parts.at(-1)!.endMs,
      columns: names,
      count: nodes.length,
      leftOut: kept.length - nodes.length,
      segments: parts.map(({ beginMs, endMs, epoch }, index) => ({
        ...{ fromMs: beginMs, toMs: endMs, epoch, rows: rows[index]!.length },
        calls: durations.of(profiles[index]!.rootCalls),
      })),
      durations: durations.bounds,
    },
    bytes() {
      const at = new Int32Array(kept.length)
      for (const [index, node] of nodes.entries()) at[node] = index
      const sizes = keptSizes(size, kept)
      const floats = segments.flatMap(({ columns }, index) =>
        columns.map((values) => Float64Array.from(rows[index]!, (row) => values[row]!)),
      )
      const integers = [
        nodes.map((node) => method[node]!),
        nodes.map((node) => sizes[node]!),
        ...segments.map(({ node }, index) => rows[index]!.map((row) => at[node[row]!]!)),
      ]
      return deflateRawSync(littleEndian(floats, integers))
    },
  }
}

/** Returns the squares of the standard deviations of sampled rows, and 0 for timed rows. */
function varianceOf(tree: Tree): Float64Array {
  return Float64Array.from(tree.method, (_, node) => (sampledRow(tree, node)?.sd ?? 0) ** 2)
}

/** Returns the contexts that are in the page, and per segment the rows of these contexts. */
function keptRows(
  { method, parent, size }: Pick<Tree, 'method' | 'parent' | 'size'>,
  segments: readonly SegmentRows[],
  metric: { readonly self: string; readonly total: string },
  most: number,
): { readonly kept: Uint8Array; readonly rows: readonly Int32Array[] } {
  const whole = new Float64Array(method.length)
  for (const { node, columns } of segments)
    for (const [row, value] of columns[2]!.entries()) whole[node[row]!]! += value
  const tree = {
    ...{ count: method.length, method, parent, size },
    metrics: { [metric.self]: whole, [metric.total]: whole },
  }
  for (let limit = Math.min(most, method.length); ; limit = Math.floor(limit / 2)) {
    const kept = limit >= method.length ? new Uint8Array(method.length).fill(1) : prune(tree, 0, limit).kept
    const rows = segments.map(({ node }) =>
      Int32Array.from(node.keys()).filter((row) => kept[node[row]!] === 1),
    )
    if (limit <= 1 || rows.reduce((sum, it) => sum + it.length, 0) <= MAX_SEGMENT_ROWS) return { kept, rows }
  }
}

/** Collects the bounds of the buckets of all segments, so that each bound is in the page once. */
class Durations {
  readonly bounds: [from: number, to: number, bar: number][] = []
  readonly #index = new Map<number, number>()

  /** @param bars  rows of the distribution */
  constructor(private readonly bars: readonly BarRow[]) {}

  /** Returns the root calls of a segment, with indices into `bounds`. */
  of(calls: RootCallTimes | undefined): PageRanges['segments'][number]['calls'] {
    if (calls === undefined) return { sum: 0, buckets: [] }
    return {
      sum: calls.total,
      buckets: calls.buckets.map(([from, to, count]) => [this.#indexOf(from, to), count] as const),
    }
  }

  #indexOf(from: number, to: number): number {
    const known = this.#index.get(from)
    if (known !== undefined) return known
    this.#index.set(from, this.bounds.length)
    return this.bounds.push([from, to, barOf(from, to, this.bars)]) - 1
  }
}

function littleEndian(floats: readonly Float64Array[], integers: readonly Int32Array[]): Uint8Array {
  const length = (arrays: readonly { readonly length: number }[]) =>
    arrays.reduce((sum, it) => sum + it.length, 0)
  const bytes = new Uint8Array(8 * length(floats) + 4 * length(integers))
  const view = new DataView(bytes.buffer)
  let offset = 0
  for (const values of floats)
    for (const it of values) {
      view.setFloat64(offset, it, true)
      offset += 8
    }
  for (const values of integers)
    for (const it of values) {
      view.setInt32(offset, it, true)
      offset += 4
    }
  return bytes
}
