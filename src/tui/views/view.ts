// Base of all views: a list of rows with a scroll position and a selected row. Subclasses define the rows, their drawing, and the effect of
// keys and clicks. Refresh, pages and status lines are not part of a view.
// Pure: the same snapshot and the same keys give the same lines.

import type { HotMethod } from '../../cct/snapshot.ts'
import type { MethodName } from '../../cct/tree.ts'
import type { Scene } from '../lines.ts'
import type { LiveModel } from '../model.ts'
import type { Path, Sort, SortColumn } from '../rows.ts'
import type { Line } from '../screen.ts'

/** Notice for the key P in views without package rows. */
export const NOT_FOLDED = 'this view has no package rows; P works in the views t, m, c and f'

export abstract class View {
  #first = 0
  /** Sort order; undefined if the view cannot be sorted. */
  sort: Sort | undefined = undefined
  /** Whether the view supports hiding cheap rows. */
  readonly isFiltered: boolean = true
  /** Notice for the key % if the view does not support hiding rows. */
  readonly whyUnfiltered: string = 'this view has no row filter; % works in trees and in hot methods'
  /** Noun for searched rows, if they are not methods or packages. */
  readonly searched: string | undefined = undefined
  /** Notice for the key P if the view has no package rows; else undefined. */
  readonly whyUnfolded: string | undefined = undefined

  /** @param model  shared state of all views */
  constructor(protected readonly model: LiveModel) {}

  /** Number of all rows, including rows outside the screen. */
  abstract get count(): number
  /** Index of the selected row. */
  abstract get index(): number
  /** Index of the first row on the screen. */
  get first(): number {
    return this.#first
  }
  /** Node of the selected row in the shared tree; -1 if the row is not a node. */
  get node(): number {
    return -1
  }
  /** Row ids on the path from the root to the selected row. In a list, the path contains only the id of the row. */
  get path(): Path {
    return this.id === undefined ? [] : [this.id]
  }
  /** Returns the name of an id of `path`. */
  pathName({ nameOf }: Scene, id: number): MethodName {
    return nameOf(id)
  }
  /** Costs and calls of the selected row. */
  get numbers(): { readonly total: number; readonly self: number; readonly calls: number } | undefined {
    return undefined
  }
  /** Returns the selected row as text; undefined if the caller can format the row from its name and `numbers`. */
  rowText(_scene: Scene): string | undefined {
    return undefined
  }
  /** Id of the selected row in the shared tree. */
  get id(): number | undefined {
    return this.node < 0 ? undefined : this.model.tree.method[this.node]
  }
  /** Costs of the selected method, summed over all its contexts; undefined if rows are not such sums. */
  get hot(): HotMethod | undefined {
    return undefined
  }
  /** Method id of the selected row; undefined if the row is a package. */
  get method(): number | undefined {
    return this.model.isFolded ? undefined : this.id
  }
  /** Whether a search finds hidden rows. */
  get findsHidden(): boolean {
    return !this.isFiltered
  }
  /** Returns the detail line; undefined if it is the full method name. */
  detail(_scene: Scene): string | undefined {
    return undefined
  }
  /** Returns the reason why there are no rows; undefined if the reason is unknown. */
  nothing(): string | undefined {
    const { least } = this.model.filter
    return least > 0
      ? `All rows are hidden: each is below ${least} %. Press % to change the limit.`
      : undefined
  }

  protected abstract select(index: number): void
  /** Rebuilds the rows after a change of tree or order. */
  protected abstract rebuild(): void
  /** Selects the next match in this direction, and returns the number of matches. */
  abstract find(direction: 1 | -1): number

  /** Returns the line of column heads. */
  abstract head(scene: Scene): Line
  /** Returns the visible rows. */
  abstract body(scene: Scene): Line[]
  /** Returns the column with its head at this cell, or undefined. */
  columnAt(_scene: Scene, _cell: number): SortColumn | undefined {
    return undefined
  }

  /** Updates the rows after a change of the tree. The selected row keeps its screen line. */
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

  /** Adjusts the scroll position after a resize or when the view is shown again. */
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

  /** Scrolls the rows. The selection stays visible. */
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

  /** The first click on a row selects the row, a second click acts as Enter. */
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
  /** Handles Esc: ends a zoom, or closes a list. Returns false if the view has neither. */
  back(): boolean {
    return false
  }

  /** Selects the next matching row in this direction, and wraps at the end. Returns the number of matches. */
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

  /** Draws the visible rows. @param rows  visible rows */
  protected lines<Row>(rows: readonly Row[], line: (row: Row, isSelected: boolean) => Line): Line[] {
    const selected = this.index - this.first
    return rows.map((row, i) => line(row, i === selected))
  }

  /** Returns the visible rows. */
  protected inSight<Row>(all: readonly Row[]): readonly Row[] {
    return all.slice(this.first, this.first + this.model.bodyRows)
  }
}
