// One row a context, for spreadsheets and data frames, as RFC 4180 has it: lines end with CR LF, and a field with a
// comma, a quote or a line end is quoted.
//
// A spreadsheet takes a cell that begins with =, +, -, @, a tab or a line end for a formula, or for the beginning of one, and a
// thread may be called anything. So a text that begins with one of these, or with an apostrophe, has an apostrophe before it:
// to read a name, take one away. So does what comes behind a semicolon, as each method of a path: many a spreadsheet begins a cell
// there. Numbers have none. Control characters but tabs and line feeds, and those that turn what is read around, are question marks: many a
// CSV is shown by a terminal.
//
// The first row names the columns. `node` and `parent` are row numbers from 0 (a top node has no parent), `path` the
// methods from the top node down, joined by semicolons; deep ones are cut in the middle. The numbers are the columns of
// the JSON, in the same units, not rounded.

import type { Tree } from '../cct/tree.ts'
import { nameOf, type Profile } from '../profile/profile.ts'
import type { ExportFormat } from './format.ts'
import { type FrameNames, frameNames, moveTo, shownFrames, treesOf } from './frames.ts'

export const csv: ExportFormat = {
  name: 'csv',
  extension: '.csv',
  description: 'one row a context with its path and all of its numbers: spreadsheets, data frames',
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
  /** What every row begins with. */
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

/** The cells that say which method it is, made once a method. */
function methodCells(profile: Profile): (id: number) => string {
  const known: (string | undefined)[] = []
  const cellsOf = (id: number): string => {
    const { class: className, method, descriptor, loader, bci, line } = nameOf(profile.methodNames, id)
    const places = profile.callSites ? [bci ?? '', line ?? ''] : []
    return [className, method, descriptor, loader].map(textCell).concat(places.map(String)).join(',')
  }
  return (id) => (known[id] ??= cellsOf(id))
}

/** As `printable`, but for tabs and line feeds. */
const UNSHOWN = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

function textCell(text: string): string {
  const plain = text.replace(UNSHOWN, '?').replace(/(?<=^|;)(?=[=+\-@\t\n'＝＋－＠])/g, "'")
  return /[",\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain
}
