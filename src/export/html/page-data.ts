// Defines the data of the page: one JSON object, and a block of bytes per tree. client/data.js reads them.
//
// A block is deflated (RFC 1951) and base64-encoded. It holds these arrays in order, little-endian:
//
//   columns    count × f64 each   in the order of the tree's `columns`
//   method     count × i32        index into `names`
//   size       count × i32        number of nodes in the subtree; nodes are in preorder as in cct/tree.ts
//   left out   count × i32        only if `leftOut` is not 0: number of omitted contexts in subtrees of omitted children

export interface PageData {
  /** Measure of the costs (`Metric.kind`). */
  readonly metric: string
  /**
   * Whether the page compares two profiles. The numbers of a comparison are per root call (samples: shares of all samples). For each
   * column, a second column contains the earlier values; its name is the first column's name with 0 appended.
   */
  readonly isComparison: boolean
  readonly words: {
    readonly total: string
    readonly self: string
    readonly calls: string
    /** Divisor of the numbers: "per root call" or "of all samples"; '' for one profile. */
    readonly per: string
  }
  /** Names of classes, with packages. */
  readonly classes: readonly string[]
  /**
   * Per method: index into `classes` or -1, method name, parameters. A method with a call site also has the index of the method without a
   * call site.
   */
  readonly names: readonly (readonly [owner: number, member: string, parameters: string, anywhere?: number])[]
  readonly trees: readonly PageTree[]
  /** Lists of the tabs, keyed by tab (tabs.ts). */
  readonly lists: { readonly [tab: string]: readonly PageList[] }
  /** Values per second; absent if the profile has none. */
  readonly timeline?: PageTimeline
  /** Segments for the selection of a time range; absent if the profile has none. */
  readonly ranges?: PageRanges
}

export interface PageTree {
  readonly title: string
  /** Whether the tree contains only slow calls. */
  readonly isSlow?: true
  /** Id of the HTML element that contains the block. */
  readonly block: string
  readonly count: number
  /** The column `sd`, of trees with sampled rows: standard deviation of the total of a sampled row, -1 for a timed row. */
  readonly columns: readonly string[]
  /** Texts after the names of rows: thread states, and calls that probes missed. `node` is an index into the block. */
  readonly notes?: readonly (readonly [node: number, text: string])[]
  /** Number of contexts that are not in the block. */
  readonly leftOut: number
  readonly hotColumns: readonly string[]
  /** Methods with the largest self cost, or the largest change of self cost. Each row: method index, then the values of `hotColumns`. */
  readonly hot: readonly (readonly number[])[]
  readonly hotLeftOut: number
}

/** Rows below a heading. Rows may have rows below them, like a tree. */
export interface PageList {
  readonly title: string
  /** Sentences below the title. */
  readonly notes: readonly string[]
  readonly columns: readonly PageColumn[]
  /** Header of the column of names. */
  readonly head: string
  /** Rows in preorder. */
  readonly rows: readonly PageRow[]
  /** Index of the column that is drawn as a bar behind the row. */
  readonly bar?: number
  /** Per row, the place in a tree that the row opens; null if there is none. */
  readonly places?: readonly (PlaceInTree | null)[]
}

/** `cost`: in the unit of the page. `change`: the same, with a sign. `percent`: 100 is the whole. `text`: not sorted. */
export type CellUnit = 'cost' | 'change' | 'ns' | 'count' | 'percent' | 'text'

export type PageColumn = readonly [title: string, hint: string, unit: CellUnit]

/** A number as `name` is an index into `names`. A cell that is '' stays blank. */
export type PageRow = readonly [
  depth: number,
  name: number | string,
  note: string,
  ...cells: readonly (number | string)[],
]

export interface PlaceInTree {
  /** Index into `trees`. */
  readonly tree: number
  readonly node: number
}

/**
 * Time ranges (ranges.ts). Their block holds little-endian arrays in this order: per segment each of `columns` as f64, then method and size of
 * the common tree as i32, then per segment the context of each of its rows as i32.
 */
export interface PageRanges {
  /** Length of a segment. Segments at a change of the set of timed methods are shorter. */
  readonly segmentMs: number
  /** A segment of which a smaller part is in the range is left out, as in a report of the range. */
  readonly leastPart: number
  /** Duration of the recording. */
  readonly ofMs: number
  /** `variance`, of sampled rows: square of the standard deviation. */
  readonly columns: readonly string[]
  /** Number of contexts of the common tree. */
  readonly count: number
  /** Number of contexts that are not in the block. */
  readonly leftOut: number
  readonly segments: readonly PageSegment[]
  /** Durations of root calls, in the unit of the page. `bar`: row of the distribution in the tab Latency. */
  readonly durations: readonly (readonly [from: number, to: number, bar: number])[]
}

export interface PageSegment {
  readonly fromMs: number
  readonly toMs: number
  /** Rows of segments with different epochs are not added, since their sets of timed methods differ. */
  readonly epoch: number
  /** Number of rows in the block. */
  readonly rows: number
  /** Root calls that ended in the segment. A count may be negative: a late pause has moved an earlier call. */
  readonly calls: {
    readonly sum: number
    readonly buckets: readonly (readonly [duration: number, count: number])[]
  }
}

/** One value per second, oldest first, as in `CourseTimes`. The last second of the recording is incomplete, and omitted. */
export interface PageTimeline {
  /** Number of seconds of the recording before the first value. */
  readonly first: number
  readonly charts: readonly PageChart[]
}

export interface PageChart {
  readonly title: string
  readonly hint: string
  /** Unit of the values; `percent` as in a list. */
  readonly unit: CellUnit
  /** Series that are drawn over each other, largest first. */
  readonly series: readonly PageSeries[]
}

export interface PageSeries {
  /** Name in the legend; '' if the chart has one series. */
  readonly name: string
  readonly values: readonly number[]
}
