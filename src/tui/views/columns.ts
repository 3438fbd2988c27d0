// Number columns shared by the views of methods and contexts, and the drawing of their rows.

import { isNotAttributed } from '../../cct/allocation.ts'
import { costsOf } from '../../cct/metric.ts'
import type { Tree } from '../../cct/tree.ts'
import { METRICS } from '../../measures/columns.ts'
import { VIEWS } from '../../measures/views.ts'
import { type CostWords, wordsOf as reportWords } from '../../profile/cost-text.ts'
import { placeOf } from '../../profile/places.ts'
import { column } from '../../profile/profile.ts'
import { deviationText, sampledRow, stateText, UNSEEN_MARK, unseenMark } from '../../profile/sampled-rows.ts'
import { kept } from '../baseline.ts'
import { count, cut, type Glyphs, indent, right, shortName, time, width } from '../format.ts'
import { cells, glyphsOf, rowLine, run } from '../frame-lines.ts'
import type { Scene } from '../lines.ts'
import type { Row, Sort, SortColumn } from '../rows.ts'
import type { Line, Run, Style } from '../screen.ts'
import { matcher } from '../search.ts'

/** Maximum share of the name column that is indentation. */
export const MAX_INDENT = 0.4

interface Column {
  readonly sort: SortColumn
  readonly title: string
  readonly cells: number
}

export function numberColumns(
  screenColumns: number,
  words: CostWords = reportWords(METRICS.exact),
  share = '',
): readonly Column[] {
  const wide = screenColumns >= 100
  return [
    { sort: 'total', title: words.total, cells: wide ? 12 : 9 },
    { sort: 'self', title: words.self, cells: wide ? 12 : 9 },
    { sort: 'share', title: share, cells: 8 },
    { sort: 'calls', title: words.calls, cells: wide ? 14 : 9 },
    { sort: 'perCall', title: words.perCall, cells: wide ? 11 : 9 },
  ]
}

/** Returns the position in cells at which the name column starts, after the number columns and a gap. */
export function nameColumn(screenColumns: number): number {
  return numberColumns(screenColumns).reduce((sum, each) => sum + each.cells, 2)
}

/** Returns the number column at a cell of the head line. */
export function headAt(screenColumns: number, at: number): SortColumn {
  return columnUnder(numberColumns(screenColumns), at)
}

/** Returns the sort order of the column at a cell; `name` to the right of all columns. */
export function columnUnder(columns: readonly Pick<Column, 'sort' | 'cells'>[], at: number): SortColumn {
  let end = 0
  for (const { sort, cells } of columns) {
    end += cells
    if (at < end) return sort
  }
  return 'name'
}

/** Returns the words and formats of costs on the screen. Each time is shown with a unit. Cached per scene. */
export const wordsOf = kept(({ status, unicode }: Scene): CostWords => {
  const metric = METRICS[status.mode]
  const words = reportWords(metric)
  if (!metric.isTime) return words
  return {
    ...words,
    ...VIEWS[status.mode].heads,
    perCall: 'per call',
    cost: (ns) => time(ns, unicode),
    each: (ns, calls) => (calls === 0 ? '-  ' : time(ns / calls, unicode)),
  }
})

interface NamesHead {
  /** Title of the name column. */
  readonly names?: string
  /** Number of rows hidden by the filter. */
  readonly hidden: number
}

/** Returns the line of column heads. @param share  title of the share column */
export function columnHeads(scene: Scene, sort: Sort, share: string, { names, hidden }: NamesHead): Line {
  const { columns, model } = scene
  const title = (names ?? (model.isFolded ? 'package' : 'method')) + hiddenText(hidden, model.filter.least)
  const fitting = cut(title, columns - nameColumn(columns) - 1)
  return headLine(scene, sort, numberColumns(columns, wordsOf(scene), share), '  ', fitting)
}

/** Returns the head line: heads of the number columns (right-aligned), the text `between`, the head of the name column. */
export function headLine(
  scene: Scene,
  sort: Sort,
  numbers: readonly Column[],
  between: string,
  names: string,
): Line {
  const { down, up } = glyphsOf(scene)
  const head = (by: SortColumn, title: string): Run =>
    by === sort.column ? run((sort.reversed ? up : down) + title, 'sorted') : run(title, 'header')
  const line: Run[] = []
  for (const column of numbers) {
    const title = head(column.sort, column.title)
    line.push(run(' '.repeat(Math.max(0, column.cells - width(title.text))), 'header'), title)
  }
  line.push(run(between, 'header'), head('name', names))
  return [...line, run(' '.repeat(Math.max(0, scene.columns - cells(line))), 'header')]
}

export function hiddenText(hidden: number, least: number): string {
  return hidden === 0 ? '' : `, ${count(hidden)} below ${least} % hidden`
}

/** Properties of rows that sum a method over all its contexts. */
interface OfMethods {
  /** True if a row without calls is a sampled row. */
  readonly maySample: boolean
  /** Methods with calls that were missed by their probes. */
  readonly unseen: ReadonlySet<number>
}

/** Returns a function that draws a row. @param tree  tree of the rows, if the rows are tree nodes */
export function rowDrawer(scene: Scene, tree?: Tree, of?: OfMethods) {
  const { columns, isLeftOut, model, nameOf } = scene
  const glyphs = glyphsOf(scene)
  const [total, self, share, calls, each] = numberColumns(columns) as [Column, Column, Column, Column, Column]
  const nameCells = columns - nameColumn(columns)
  const matches = matcher(model.search, model.nameText)
  const words = wordsOf(scene)
  return (
    [totalCost, selfCost, times]: readonly [total: number, self: number, calls: number],
    part: string,
    whole: number,
    method: number,
    selected: boolean,
    row?: Row,
  ): Line => {
    const called = nameOf(method)
    const sampled = row && tree ? sampledRow(tree, row.node) : undefined
    const numbers =
      right(words.cost(totalCost, total.cells - 1), total.cells) +
      right(words.cost(selfCost, self.cells - 1), self.cells) +
      right(part, share.cells) +
      right(
        sampled || (of?.maySample === true && times === 0 && !isNotAttributed(called))
          ? 'sampled'
          : count(times, calls.cells - 1),
        calls.cells,
      ) +
      right(sampled ? deviationText(sampled, totalCost) : words.each(totalCost, times), each.cells)
    const before = row ? indent(row.depth, nameCells * MAX_INDENT) : ''
    const marker = row ? markerOf(row, glyphs) : ''
    const doing = row && tree ? stateText(tree, row.node) : ''
    const isUnseen = row && tree ? unseenMark(tree, row.node) !== '' : of?.unseen.has(method) === true
    const mark = doing + (isUnseen ? UNSEEN_MARK : '') + (isLeftOut?.(method) ? ' (left out)' : '')
    const place = row && tree ? placeOf(tree, row.node, nameOf) : ''
    const room = nameCells - width(before) - width(marker) - mark.length
    const name = shortName(called, room - place.length, glyphs.ellipsis) + mark
    const runs = [
      run(numbers, heatOf(selfCost, whole)),
      run(`  ${before}`, 'dim'),
      run(marker, 'key'),
      run(name, matches(method) ? 'match' : 'plain'),
      ...(place === '' ? [] : [run(place, 'dim')]),
    ]
    return rowLine(runs, selected, columns)
  }
}

/** Returns the open or closed marker before the name of a row. */
export function markerOf(row: { readonly open?: boolean; readonly leaf?: boolean }, glyphs: Glyphs): string {
  if (row.leaf === true || row.open === undefined) return '  '
  return row.open ? `${glyphs.open} ` : `${glyphs.closed} `
}

/** Returns the style of a row by its self cost. The total is not used, since every caller of a hot method has a high total. */
export function heatOf(self: number, whole: number): Style {
  if (self <= 0) return 'plain'
  return self >= whole / 4 ? 'hot' : self >= whole / 20 ? 'warm' : 'plain'
}

/** Returns the numbers of a tree node; undefined for node -1. */
export function numbersOf(tree: Tree, node: number) {
  if (node < 0) return undefined
  const { self, total } = costsOf(tree)
  return { self: self[node]!, total: total[node]!, calls: column(tree, 'calls')[node]! }
}
