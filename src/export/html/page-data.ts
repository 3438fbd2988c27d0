// What the page is given: one JSON object, and a block of bytes a tree. Drawn here; read by client/data.js.
//
// A block is deflated (RFC 1951) and in base64. It holds, one behind the other and little-endian:
//
//   columns    count × f64 each   as `columns` of the tree names them
//   method     count × i32        index into `names`
//   size       count × i32        nodes of the subtree, in preorder as in cct/tree.ts
//   left out   count × i32        only if `leftOut` is not 0: contexts right below, with all below them, that are not here

export interface PageData {
  /** What it counts (`Metric.kind`). */
  readonly metric: string
  /** Then numbers are per root call (of samples a part of all), and each column has one of before, with a 0 behind its name. */
  readonly isComparison: boolean
  readonly words: {
    readonly total: string
    readonly self: string
    readonly calls: string
    /** "per root call", "of all samples"; '' for one profile. */
    readonly per: string
  }
  /** Names of classes, with packages. */
  readonly classes: readonly string[]
  /**
   * By method: index into `classes` or -1, the method, its parameters; of a method and the place it is called from also the
   * method that it is wherever it is called.
   */
  readonly names: readonly (readonly [owner: number, member: string, parameters: string, anywhere?: number])[]
  readonly trees: readonly PageTree[]
}

export interface PageTree {
  readonly title: string
  /** Id of the element that holds the block. */
  readonly block: string
  readonly count: number
  readonly columns: readonly string[]
  /** Contexts that are not in the block. */
  readonly leftOut: number
  readonly hotColumns: readonly string[]
  /** Of the methods with the largest cost of their own (in a comparison, change of it): method, then `hotColumns`. */
  readonly hot: readonly (readonly number[])[]
  readonly hotLeftOut: number
}
