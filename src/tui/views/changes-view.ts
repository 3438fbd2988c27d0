// View of changes since the baseline, per root call. Rows are contexts or methods, sorted by the absolute value of their change.

import type { Tree } from '../../cct/tree.ts'
import { METRICS } from '../../measures/columns.ts'
import { placeOf } from '../../profile/places.ts'
import { column } from '../../profile/profile.ts'
import { AS_IT_IS, CHANGE_COLUMNS, methodsAlone, type Shape, type ShownChanges } from '../baseline.ts'
import { count, cut, indent, pad, right, shortName, signature, width } from '../format.ts'
import { glyphsOf, rowLine, run } from '../frame-lines.ts'
import type { Scene } from '../lines.ts'
import type { LiveModel } from '../model.ts'
import type { Line, Style } from '../screen.ts'
import { matcher } from '../search.ts'
import { hiddenText, MAX_INDENT, markerOf, nameColumn, numberColumns, wordsOf } from './columns.ts'
import { OutlineView } from './outline-view.ts'

/** Kind of rows: methods, contexts, or the callers of a method. */
type ChangesOf = 'methods' | 'contexts' | 'callers'

export class ChangesView extends OutlineView {
  readonly #of: ChangesOf
  readonly #shape: Shape

  constructor(model: LiveModel, of: ChangesOf) {
    super(model)
    this.#of = of
    this.#shape = of === 'methods' ? methodsAlone() : AS_IT_IS
  }

  protected get changes(): ShownChanges {
    return this.model.changes(this.#shape)
  }

  protected override get source(): Tree {
    return this.changes.tree
  }

  /** Returns the cost of a root call at the baseline, which is 100 % for all shares. */
  protected override wholeOf(): number {
    return this.changes.wholeBefore
  }

  /** Number of rows; 0 if the root was not called since the baseline. */
  override get count(): number {
    return this.changes.rootCalls.after > 0 ? super.count : 0
  }

  override detail({ columns, nameOf }: Scene): string | undefined {
    const { rootCalls } = this.changes
    const { id } = this
    const sides = `: ${count(rootCalls.after)} root ${rootCalls.after === 1 ? 'call' : 'calls'} now, ${count(rootCalls.before)} before; b ends it`
    return id === undefined
      ? sides.slice(2)
      : shortName(nameOf(id), Math.max(16, columns - sides.length - 2)) + sides
  }

  override rowText(scene: Scene): string | undefined {
    const { rowNode: node, tree } = this
    if (node < 0) return undefined
    const name = signature(scene.nameOf(tree.method[node]!)) + placeOf(tree, node, scene.nameOf)
    return `${name}  ${changeText(scene, tree, node)}`
  }

  /** Returns the reason why there are no rows: nothing has changed, or the filter hides all rows. */
  override nothing(): string | undefined {
    const { rootCalls, tree } = this.changes
    return rootCalls.after > 0 && tree.count > 0 ? super.nothing() : nothingChanged(this.changes)
  }

  /** Title of the name column: kind of rows, and unit of the numbers. */
  protected get title(): string {
    const names = { methods: 'method', contexts: 'context', callers: 'callers' }[this.#of]
    return `${names}, per root call`
  }

  override head(scene: Scene): Line {
    const { columns, unicode } = scene
    const words = wordsOf(scene)
    const delta = unicode ? 'Δ' : 'd'
    const titles = [delta + words.total, delta + words.self, `${delta}% root`, delta + words.calls, 'before']
    const numbers = numberColumns(columns).map(({ cells }, i) => right(cut(titles[i]!, cells), cells))
    const names = this.title + hiddenText(this.hidden, this.model.filter.least)
    return [run(pad(`${pad(numbers.join(''), nameColumn(columns))}${names}`, columns), 'header')]
  }

  override body(scene: Scene): Line[] {
    const { columns, nameOf } = scene
    const { tree } = this
    const glyphs = glyphsOf(scene)
    const cells = numberColumns(columns).map((it) => it.cells) as [number, number, number, number, number]
    const nameCells = columns - nameColumn(columns)
    const matches = matcher(this.model.search, this.model.nameText)
    const { wholeBefore } = this.changes
    const [total, self, calls, was] = changesOf(tree)
    const rows = this.rows.window(this.first, this.model.bodyRows)
    return this.lines(rows, (row, isSelected) => {
      const { node } = row
      const cost = (value: number, room: number) =>
        right(
          signed(value, (size) => costText(scene, size, room - 2)),
          room,
        )
      const share = wholeBefore > 0 ? signed(total[node]!, (size) => partText(size / wholeBefore)) : '-'
      const numbers =
        cost(total[node]!, cells[0]) +
        cost(self[node]!, cells[1]) +
        right(share, cells[2]) +
        right(signed(calls[node]!, callsText), cells[3]) +
        right(costText(scene, was[node]!, cells[4] - 1), cells[4])
      const isFlat = this.#of === 'methods'
      const before = isFlat ? '' : indent(row.depth, nameCells * MAX_INDENT)
      const marker = isFlat ? '' : markerOf(row, glyphs)
      const place = placeOf(tree, node, nameOf)
      const room = nameCells - width(before) - width(marker) - place.length
      const name = shortName(nameOf(tree.method[node]!), room, glyphs.ellipsis)
      const runs = [
        run(pad(numbers, nameColumn(columns)), changeStyle(self[node]!, wholeBefore)),
        run(before, 'dim'),
        run(marker, 'key'),
        run(name, matches(tree.method[node]!) ? 'match' : 'plain'),
        run(place, 'dim'),
      ]
      return rowLine(runs, isSelected, columns)
    })
  }
}

export function nothingChanged({ rootCalls }: ShownChanges): string {
  return `No root call has started since the baseline (${count(rootCalls.before)} before it). Press b to end the comparison.`
}

/** Returns "total +1.600ms, self +1.600ms, calls +2.00 per root call; total before 1.000ms". */
export function changeText(scene: Scene, tree: Tree, node: number): string {
  const words = wordsOf(scene)
  const [total, self, calls, was] = changesOf(tree).map((of) => of[node] ?? 0) as [
    number,
    number,
    number,
    number,
  ]
  const cost = (value: number) => signed(value, (size) => costText(scene, size).trim())
  const changes = `${words.total} ${cost(total)}, ${words.self} ${cost(self)}, ${words.calls} ${signed(calls, callsText)}`
  return `${changes} per root call; ${words.total} before ${costText(scene, was).trim()}`
}

/** Returns the changes of total and self cost per root call, and the total at the baseline. */
export function shortChangeText(scene: Scene, tree: Tree, node: number): string {
  const words = wordsOf(scene)
  const [total, self, , was] = changesOf(tree).map((of) => of[node] ?? 0) as [number, number, number, number]
  const cost = (value: number) => signed(value, (size) => costText(scene, size).trim())
  return `${cost(total)} ${words.total}, ${cost(self)} ${words.self} per root call; before ${costText(scene, was).trim()}`
}

type Columns = [total: Float64Array, self: Float64Array, calls: Float64Array, was: Float64Array]

function changesOf(tree: Tree): Columns {
  const { total, self, calls, was } = CHANGE_COLUMNS
  return [column(tree, total), column(tree, self), column(tree, calls), column(tree, was)]
}

function signed(value: number, text: (size: number) => string): string {
  return value === 0 ? '0' : `${value > 0 ? '+' : '-'}${text(Math.abs(value))}`
}

/** Returns the style for a change of self cost: `hot` or `warm` for increases, `good` for decreases, `plain` for small changes. */
export function changeStyle(self: number, whole: number): Style {
  if (!(whole > 0) || Math.abs(self) < whole / 20) return 'plain'
  return self < 0 ? 'good' : self >= whole / 4 ? 'hot' : 'warm'
}

function partText(part: number): string {
  const percent = part * 100
  return percent >= 99.95 ? percent.toFixed(0) : percent.toFixed(1)
}

/** Formats a cost per root call. A cost that is a count, such as bytecodes, may be below one. */
function costText(scene: Scene, cost: number, cells?: number): string {
  const { isTime } = METRICS[scene.status.mode]
  if (!isTime && cost > 0 && cost < 100) return callsText(cost)
  return wordsOf(scene).cost(cost, cells)
}

/** Formats calls per root call, with up to two decimals. */
function callsText(calls: number): string {
  if (calls >= 1000) return count(calls, 8)
  return calls >= 10 ? calls.toFixed(1) : calls >= 0.01 ? calls.toFixed(2) : '0.00'
}
