// What has changed since b, per call of the root: the tree of all contexts, or methods. Rows are sorted by the size of their change,
// up or down.

import type { Tree } from '../../cct/tree.ts'
import { placeOf } from '../../profile/places.ts'
import { column } from '../../profile/profile.ts'
import { CHANGE_COLUMNS, type ShownChanges } from '../baseline.ts'
import { count, cut, indent, pad, right, shortName, signature, width } from '../format.ts'
import { glyphsOf, run } from '../frame-lines.ts'
import type { Scene } from '../lines.ts'
import type { Line, Style } from '../screen.ts'
import { matcher } from '../search.ts'
import { MOST_INDENT, nameColumn, wordsOf } from './columns.ts'
import { OutlineView } from './outline-view.ts'
import type { Shared } from './view.ts'

export class ChangesView extends OutlineView {
  readonly #areMethods: boolean

  /** @param areMethods  in all their contexts */
  constructor(shared: Shared, areMethods: boolean) {
    super(shared)
    this.#areMethods = areMethods
  }

  get #changes(): ShownChanges {
    return this.shared.changes(this.#areMethods)
  }

  protected override get source(): Tree {
    return this.#changes.tree
  }

  /** A part of what a root call cost before. */
  protected override wholeOf(): number {
    return this.#changes.wholeBefore
  }

  /** Without a call there is nothing to compare. */
  override get count(): number {
    return this.#changes.rootCalls.after > 0 ? super.count : 0
  }

  override detail({ columns, nameOf }: Scene): string | undefined {
    const { rootCalls } = this.#changes
    const calls = (of: number) => `${count(of)} ${of === 1 ? 'call' : 'calls'}`
    const { id } = this
    const sides = `: ${calls(rootCalls.after)} of the root against ${calls(rootCalls.before)} before; b ends it`
    return id === undefined
      ? sides.slice(2)
      : shortName(nameOf(id), Math.max(16, columns - sides.length - 2)) + sides
  }

  override rowText(scene: Scene): string | undefined {
    const { rowNode: node, tree } = this
    if (node < 0) return undefined
    const words = wordsOf(scene)
    const at = (of: Float64Array) => of[node] ?? 0
    const [total, self, calls, was] = changesOf(tree)
    const cost = (value: number) => signed(value, (size) => words.cost(size).trim())
    const name = signature(scene.nameOf(tree.method[node]!)) + placeOf(tree, node, scene.nameOf)
    const changes = `${words.total} ${cost(at(total))}, ${words.self} ${cost(at(self))}, ${words.calls} ${signed(at(calls), callsText)}`
    return `${name}  ${changes} per call of the root; ${words.total} was ${words.cost(at(was)).trim()}`
  }

  override nothing(): string {
    const { before } = this.#changes.rootCalls
    return `No call of the root has begun since b, and ${count(before)} before. b ends the comparison.`
  }

  override head(scene: Scene): Line {
    const { columns, unicode } = scene
    const words = wordsOf(scene)
    const [wide, delta] = [columns >= 100, unicode ? 'Δ' : 'd']
    const titles: readonly [string, number][] = [
      [delta + words.total, wide ? 12 : 9],
      [delta + words.self, wide ? 12 : 9],
      [`${delta}% root`, 8],
      [delta + words.calls, wide ? 14 : 9],
      ['was', wide ? 11 : 9],
    ]
    const numbers = titles.map(([title, cells]) => right(cut(title, cells), cells)).join('')
    const names = this.#areMethods ? 'method' : 'context'
    const hidden = this.hidden > 0 ? `, ${count(this.hidden)} below ${this.shared.filter.least} % hidden` : ''
    return [
      run(
        pad(`${pad(numbers, nameColumn(columns))}${names}, per call of the root${hidden}`, columns),
        'header',
      ),
    ]
  }

  override body(scene: Scene): Line[] {
    const { columns, nameOf } = scene
    const { tree } = this
    const glyphs = glyphsOf(scene)
    const words = wordsOf(scene)
    const wide = columns >= 100
    const nameCells = columns - nameColumn(columns)
    const matches = matcher(this.shared.search, this.shared.nameText)
    const { wholeBefore } = this.#changes
    const [total, self, calls, was] = changesOf(tree)
    return this.rows.window(this.first, this.shared.bodyRows).map((row, i) => {
      const { node } = row
      const cost = (value: number, cells: number) =>
        right(
          signed(value, (size) => words.cost(size, cells - 2)),
          cells,
        )
      const share = wholeBefore > 0 ? signed(total[node]!, (size) => partText(size / wholeBefore)) : '-'
      const numbers =
        cost(total[node]!, wide ? 12 : 9) +
        cost(self[node]!, wide ? 12 : 9) +
        right(share, 8) +
        right(signed(calls[node]!, callsText), wide ? 14 : 9) +
        right(words.cost(was[node]!, wide ? 10 : 8), wide ? 11 : 9)
      const before = this.#areMethods ? '' : indent(row.depth, nameCells * MOST_INDENT)
      const marker = this.#areMethods
        ? ''
        : row.leaf
          ? '  '
          : row.open
            ? `${glyphs.open} `
            : `${glyphs.closed} `
      const place = placeOf(tree, node, nameOf)
      const room = nameCells - width(before) - width(marker) - place.length
      const name = shortName(nameOf(tree.method[node]!), room, glyphs.ellipsis)
      const text = pad(numbers, nameColumn(columns))
      if (this.first + i === this.index)
        return [run(pad(`${text}${before}${marker}${name}${place}`, columns), 'selected')]
      return [
        run(text, styleOf(self[node]!, wholeBefore)),
        run(before, 'dim'),
        run(marker, 'key'),
        run(name, matches(tree.method[node]!) ? 'match' : 'plain'),
        run(place, 'dim'),
      ]
    })
  }
}

type Columns = [total: Float64Array, self: Float64Array, calls: Float64Array, was: Float64Array]

function changesOf(tree: Tree): Columns {
  const { total, self, calls, was } = CHANGE_COLUMNS
  return [column(tree, total), column(tree, self), column(tree, calls), column(tree, was)]
}

function signed(value: number, text: (size: number) => string): string {
  return value === 0 ? '0' : `${value > 0 ? '+' : '-'}${text(Math.abs(value))}`
}

/** A change of its own that counts: more is hot, less is good. */
function styleOf(self: number, whole: number): Style {
  if (!(whole > 0) || Math.abs(self) < whole / 20) return 'plain'
  return self < 0 ? 'good' : self >= whole / 4 ? 'hot' : 'warm'
}

function partText(part: number): string {
  const percent = part * 100
  return percent >= 99.95 ? percent.toFixed(0) : percent.toFixed(1)
}

/** Calls a root call: two digits behind the point while that says something. */
function callsText(calls: number): string {
  if (calls >= 1000) return count(calls, 8)
  return calls >= 10 ? calls.toFixed(1) : calls >= 0.01 ? calls.toFixed(2) : '0.00'
}
