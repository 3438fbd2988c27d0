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
}

export interface PageTree {
  readonly title: string
  /** Id of the HTML element that contains the block. */
  readonly block: string
  readonly count: number
  readonly columns: readonly string[]
  /** Number of contexts that are not in the block. */
  readonly leftOut: number
  readonly hotColumns: readonly string[]
  /** Methods with the largest self cost, or the largest change of self cost. Each row: method index, then the values of `hotColumns`. */
  readonly hot: readonly (readonly number[])[]
  readonly hotLeftOut: number
}
