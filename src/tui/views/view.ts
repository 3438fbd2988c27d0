// One way of looking at what was recorded: rows, of which some are on the screen and one is selected. What they are, how they
// are drawn, and what keys and clicks on them do is the view's; the turns of the session, pages and status lines are not.
// Pure: the same picture and the same keys give the same lines.

import type { HotMethod } from '../../cct/snapshot.ts'
import type { MethodName } from '../../cct/tree.ts'
import type { Scene } from '../lines.ts'
import type { LiveModel } from '../model.ts'
import type { Path, Sort, SortColumn } from '../rows.ts'
import type { Line } from '../screen.ts'

/** What P says where rows are the same by method and by package. */
export const NOT_FOLDED = 'this view has no package rows; P works in the views t, m, c and f'

export abstract class View {
  #first = 0
  /** By what rows are in order; undefined where they cannot be sorted. */
  sort: Sort | undefined = undefined
  /** Whether rows that cost little can be left out. */
  readonly isFiltered: boolean = true
  /** What the key says where they cannot. */
  readonly whyUnfiltered: string = 'this view has no row filter; % works in trees and in hot methods'
  /** What a search looks through, where that is not methods or packages. */
  readonly searched: string | undefined = undefined
  /** What P says where rows are the same by method and by package; undefined where they are not. */
  readonly whyUnfolded: string | undefined = undefined

  /** @param model  what all views look at, and can do to each other by */
  constructor(protected readonly model: LiveModel) {}

  /** Rows, on the screen or not. */
  abstract get count(): number
  /** Index of the selected row. */
  abstract get index(): number
  /** Index of the first row on the screen. */
  get first(): number {
    return this.#first
  }
  /** Node of the shared tree that the selected row is; -1 for none. */
  get node(): number {
    return -1
  }
  /** Ids from a root down to the selected row; of a row of a list, its own. */
  get path(): Path {
    return this.id === undefined ? [] : [this.id]
  }
  /** What an id of `path` is called. */
  pathName({ nameOf }: Scene, id: number): MethodName {
    return nameOf(id)
  }
  /** Costs and calls that the selected row shows. */
  get numbers(): { readonly total: number; readonly self: number; readonly calls: number } | undefined {
    return undefined
  }
  /** The selected row as a line of text, where it says other things than costs and calls. */
  rowText(_scene: Scene): string | undefined {
    return undefined
  }
  /** Id that the selected row has in the shared tree. */
  get id(): number | undefined {
    return this.node < 0 ? undefined : this.model.tree.method[this.node]
  }
  /** What the selected row says of a method in all its contexts. */
  get hot(): HotMethod | undefined {
    return undefined
  }
  /** Method id of the selected row; undefined where it is a package. */
  get method(): number | undefined {
    return this.model.isFolded ? undefined : this.id
  }
  /** Whether a search finds what is left out. */
  get findsHidden(): boolean {
    return !this.isFiltered
  }
  /** What to say of the selection, where that is not the name of its method in full. */
  detail(_scene: Scene): string | undefined {
    return undefined
  }
  /** Why there is no row, where the view knows better than the session. */
  nothing(): string | undefined {
    const { least } = this.model.filter
    return least > 0
      ? `All rows are hidden: each is below ${least} %. Press % to change the limit.`
      : undefined
  }

  protected abstract select(index: number): void
  /** Looks at the tree, or sorts, anew. */
  protected abstract rebuild(): void
  /** How many match what is sought; the next one in this direction is selected then. */
  abstract find(direction: 1 | -1): number

  /** The heads of the columns. */
  abstract head(scene: Scene): Line
  /** What is on the screen below them. */
  abstract body(scene: Scene): Line[]
  /** Which column has its head at this cell; undefined for none. */
  columnAt(_scene: Scene, _cell: number): SortColumn | undefined {
    return undefined
  }

  /** After the tree has changed: the selected row stays in its line of the screen. */
  renew(): void {
    const line = this.index - this.first
    this.rebuild()
    this.scrollTo(this.index - line)
  }

  protected scrollTo(first: number): void {
    const last = Math.max(0, this.count - this.model.bodyRows)
    this.#first = Math.max(0, Math.min(first, last))
  }

  protected keepInSight(index = this.index): void {
    const { bodyRows } = this.model
    if (index < this.first) this.#first = index
    else if (index >= this.first + bodyRows) this.#first = index - bodyRows + 1
  }

  /** After the screen has another size, or the view is shown again. */
  settle(): void {
    this.scrollTo(this.first)
    this.keepInSight()
  }

  moveTo(wanted: number): void {
    const index = Math.max(0, Math.min(wanted, this.count - 1))
    this.select(index)
    this.keepInSight(index)
  }

  move(rows: number): void {
    this.moveTo(this.index + rows)
  }

  movePages(pages: number): void {
    const rows = pages * (this.model.bodyRows - 1)
    const index = this.index
    this.scrollTo(this.first + rows)
    this.moveTo(index + rows)
  }

  /** Moves the rows under the screen; the selection stays in sight. */
  scroll(rows: number): void {
    this.scrollTo(this.first + rows)
    const { index, first } = this
    const last = first + this.model.bodyRows - 1
    if (index < first) this.moveTo(first)
    else if (index > last) this.moveTo(last)
  }

  sortAs(sort: Sort): void {
    this.sort = sort
    this.renew()
  }

  /** The first click on a row selects it, another is Enter. */
  click(_scene: Scene, line: number, _column: number): void {
    const index = this.first + line
    if (index >= this.count) return
    const again = index === this.index
    this.moveTo(index)
    if (again) this.enter()
  }

  enter(): void {}
  goRight(): void {}
  goLeft(): void {}
  openBelow(): void {}
  /** Esc: undoes the last step into something; whether there was one. */
  back(): boolean {
    return false
  }

  /** From the selected row to the next that matches, around the end; how many do. */
  protected findAround(direction: 1 | -1, matches: (index: number) => boolean): number {
    const { count, index } = this
    let next = index
    let found = 0
    for (let step = 1; step <= count; step++) {
      const at = (index + direction * step + count) % count
      if (!matches(at)) continue
      if (found === 0) next = at
      found++
    }
    if (found > 0) this.moveTo(next)
    return found
  }

  /** @param rows  those on the screen */
  protected lines<Row>(rows: readonly Row[], line: (row: Row, isSelected: boolean) => Line): Line[] {
    const selected = this.index - this.first
    return rows.map((row, i) => line(row, i === selected))
  }

  /** Of all rows, those on the screen. */
  protected inSight<Row>(all: readonly Row[]): readonly Row[] {
    return all.slice(this.first, this.first + this.model.bodyRows)
  }
}
