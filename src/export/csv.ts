// Writes one row per context, for spreadsheets and data frames, by RFC 4180: lines end with CR LF, and a field with a comma, a quote or a
// line end is quoted.
// A spreadsheet reads a cell that begins with =, +, -, @, a tab or a line end as a formula, and a thread name may begin with any of these.
// A text that begins with one of these characters, or with an apostrophe, therefore gets an additional apostrophe at its start. The same
// applies to text after a semicolon, such as a method of a path, since many spreadsheets split cells at semicolons. Numbers are unchanged.
// Control characters except tabs and line feeds, and characters that change the text direction, become question marks, since a CSV is often
// shown in a terminal.
//
// The first row names the columns. `node` and `parent` are row numbers from 0; a top node has no parent. `path` lists the methods from the
// top node down, joined by semicolons; the middle of a deep path is omitted. The number columns have the names and units of the JSON, and
// are not rounded.

import type { Tree } from '../cct/tree.ts'
import { nameOf, type Profile } from '../profile/profile.ts'
import type { ExportFormat } from './format.ts'
import { type FrameNames, frameNames, moveTo, shownFrames, treesOf } from './frames.ts'

export const csv: ExportFormat = {
  name: 'csv',
  extension: '.csv',
  description: 'one row per context with its path and all its numbers: spreadsheets, data frames',
  *pieces(profile, options) {
    const names = frameNames(profile)
    const threads = options.threads === true
    const metrics = Object.keys(profile.merged.metrics)
    const columns = [
      ...(threads ? ['threadId', 'thread'] : []),
      ...['node', 'parent', 'depth', 'path', 'class', 'method', 'descriptor', 'loader'],
      ...(profile.callSites ? ['bci', 'line'] : []),
      ...metrics,
    ]
    yield `${columns.join(',')}\r\n`
    const heads = methodCells(profile)
    let first = 0
    for (const { tree, thread } of treesOf(profile, threads)) {
      const start = thread === undefined ? '' : `${thread.id},${textCell(thread.name)},`
      yield* rows(tree, { start, first, names, heads, metrics })
      first += tree.count
    }
  },
}

interface RowParts {
  /** First cells of every row. */
  readonly start: string
  /** Number of the first row. */
  readonly first: number
  readonly names: FrameNames
  readonly heads: (id: number) => string
  readonly metrics: readonly string[]
}

function* rows(tree: Tree, { start, first, names, heads, metrics }: RowParts): Generator<string> {
  const columns = metrics.map((name) => tree.metrics[name])
  const path: number[] = []
  const frameOf = (node: number) => names.frame(tree.method[node]!)
  for (let i = 0; i < tree.count; i++) {
    moveTo(path, i, tree.size)
    const above = tree.parent[i]!
    let row = `${start}${first + i},${above < 0 ? '' : first + above},${path.length - 1},`
    row += `${textCell(shownFrames(path, frameOf, String).join(';'))},${heads(tree.method[i]!)}`
    for (const column of columns) row += `,${column?.[i] ?? ''}`
    yield `${row}\r\n`
  }
}

/** Returns the cells that identify a method, cached per method. */
function methodCells(profile: Profile): (id: number) => string {
  const known: (string | undefined)[] = []
  const cellsOf = (id: number): string => {
    const { class: className, method, descriptor, loader, bci, line } = nameOf(profile.methodNames, id)
    const places = profile.callSites ? [bci ?? '', line ?? ''] : []
    return [className, method, descriptor, loader].map(textCell).concat(places.map(String)).join(',')
  }
  return (id) => (known[id] ??= cellsOf(id))
}

/** Characters that `printable` replaces, except tabs and line feeds. */
const UNSHOWN = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

function textCell(text: string): string {
  const plain = text.replace(UNSHOWN, '?').replace(/(?<=^|;)(?=[=+\-@\t\n'＝＋－＠])/g, "'")
  return /[",\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain
}
