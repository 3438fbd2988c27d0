// Base of views with rows that are recreated for each snapshot and identified by keys. Some rows open and close.

import { View } from './view.ts'

export interface KeyedRow {
  /** Key that identifies the row across snapshots. */
  readonly key: string
  readonly depth: number
  /** True if the children are visible; undefined for a row without children. */
  readonly open?: boolean
}

export abstract class KeyedView<Row extends KeyedRow> extends View {
  #rows: readonly Row[] | undefined
  /** Rows that the user has opened or closed: key of the row, and whether it is open. */
  protected readonly opened = new Map<string, boolean>()
  #selected: string | undefined

  protected abstract makeRows(): readonly Row[]

  protected get rows(): readonly Row[] {
    this.#rows ??= this.makeRows()
    return this.#rows
  }

  /** Key of the initially selected row; undefined for the first row. */
  protected get firstKey(): string | undefined {
    return undefined
  }

  protected get row(): Row | undefined {
    return this.rows[this.index]
  }

  override get count(): number {
    return this.rows.length
  }

  override get index(): number {
    const selected = this.#selected ?? this.firstKey
    const at = this.rows.findIndex(({ key }) => key === selected)
    return Math.max(0, at)
  }

  protected override rebuild(): void {
    this.#rows = undefined
  }

  protected override select(index: number): void {
    this.#selected = this.rows[index]?.key
  }

  override enter(): void {
    const { row } = this
    if (row?.open === undefined) return
    this.#selected = row.key
    this.opened.set(row.key, !row.open)
    this.renew()
    this.keepInSight()
  }

  override goRight(): void {
    const open = this.row?.open
    if (open === false) this.enter()
    else if (open === true) this.move(1)
  }

  override goLeft(): void {
    const { row } = this
    if (row === undefined) return
    if (row.open === true) this.enter()
    else {
      const above = this.rows.slice(0, this.index).findLastIndex((it) => it.depth < row.depth)
      if (above >= 0) this.moveTo(above)
    }
  }
}
