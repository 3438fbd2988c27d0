// Samples per source line. Each frame of a sampled stack is a method and the line that it executes; for a caller, the line is that of the
// call. A line counts once per stack, even if a recursive method is on the stack several times at this line.

/** Line of frames whose line is not known: native methods, and classes that were compiled without line numbers. */
export const NO_LINE = 0
/** Line number of the row that stands for the whole method. */
export const WHOLE_METHOD = -1
/** Maximum number of rows. Further lines are not counted. */
export const MAX_LINE_ROWS = 1 << 20

/** Rows of methods and their lines, in columns. */
export interface LineTable {
  readonly method: Int32Array
  /** Line from 1, or NO_LINE, or WHOLE_METHOD. */
  readonly line: Int32Array
  /** Weight of the stacks that end with this row. */
  readonly self: Float64Array
  /** Weight of the stacks that contain this row. */
  readonly total: Float64Array
  /** Number of stacks that contain this row. */
  readonly samples: Float64Array
}

export interface LineCost {
  readonly line: number
  readonly self: number
  readonly total: number
}

/** The lines of one method. */
export interface MethodLines {
  /** Number and weight of the samples whose stacks contain the method. The share of a line is relative to this weight. */
  readonly samples: number
  readonly total: number
  /** Lines with samples, in ascending order. Empty if no sample of the method has a known line. */
  readonly lines: readonly LineCost[]
}

interface Row {
  self: number
  total: number
  samples: number
  /** Number of the last stack that was counted in this row. */
  stack: number
}

export class LineSamples {
  /** Rows per method and line. */
  readonly #methods = new Map<number, Map<number, Row>>()
  #stacks = 0
  #rows = 0

  /** @param path  method ids, outermost first @param lines  line of each frame */
  add(path: ArrayLike<number>, lines: ArrayLike<number>, weight = 1): void {
    const stack = ++this.#stacks
    const last = path.length - 1
    for (let at = last; at >= 0; at--) {
      const method = path[at]!
      let rows = this.#methods.get(method)
      if (rows === undefined) {
        rows = new Map()
        this.#methods.set(method, rows)
      }
      this.#count(rows, Math.max(NO_LINE, lines[at]!), stack, weight, at === last)
      this.#count(rows, WHOLE_METHOD, stack, weight, at === last)
    }
  }

  #count(rows: Map<number, Row>, line: number, stack: number, weight: number, isInnermost: boolean): void {
    let row = rows.get(line)
    if (row === undefined) {
      if (this.#rows >= MAX_LINE_ROWS) return
      this.#rows++
      row = { self: 0, total: 0, samples: 0, stack: 0 }
      rows.set(line, row)
    }
    if (isInnermost) row.self += weight
    if (row.stack === stack) return
    row.stack = stack
    row.total += weight
    row.samples++
  }

  /** Returns the lines of a method; undefined if no stack contains the method. */
  of(method: number): MethodLines | undefined {
    const rows = this.#methods.get(method)
    if (rows === undefined) return undefined
    const whole = rows.get(WHOLE_METHOD)
    const lines = [...rows].map(([line, { self, total }]) => ({ line, self, total }))
    return inOrder(whole?.samples ?? 0, whole?.total ?? 0, lines)
  }

  /** Returns all rows. @param idsOf  maps a method id of this object to the ids in the table; default: the same id */
  table(idsOf: (method: number) => readonly number[] = (method) => [method]): LineTable {
    const found: { method: number; line: number; row: Row }[] = []
    for (const [own, rows] of this.#methods)
      for (const method of idsOf(own)) for (const [line, row] of rows) found.push({ method, line, row })
    return {
      method: Int32Array.from(found, (it) => it.method),
      line: Int32Array.from(found, (it) => it.line),
      self: Float64Array.from(found, ({ row }) => row.self),
      total: Float64Array.from(found, ({ row }) => row.total),
      samples: Float64Array.from(found, ({ row }) => row.samples),
    }
  }

  reset(): void {
    this.#methods.clear()
    this.#rows = 0
  }
}

/** Returns the lines of a method in a table; undefined if the table has no row of the method. */
export function linesIn(table: LineTable, method: number): MethodLines | undefined {
  let whole = -1
  const lines: LineCost[] = []
  for (let at = 0; at < table.method.length; at++) {
    if (table.method[at] !== method) continue
    if (table.line[at] === WHOLE_METHOD) whole = at
    else lines.push({ line: table.line[at]!, self: table.self[at]!, total: table.total[at]! })
  }
  return whole < 0 ? undefined : inOrder(table.samples[whole]!, table.total[whole]!, lines)
}

function inOrder(samples: number, total: number, lines: readonly LineCost[]): MethodLines {
  const known = lines.filter(({ line }) => line > NO_LINE)
  return { samples, total, lines: known.sort((a, b) => a.line - b.line) }
}
