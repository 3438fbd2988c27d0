// Rows that are made anew for each picture and known by their keys, of which some open and close.

import { View } from './view.ts'

export interface KeyedRow {
  /** Stays the same from picture to picture. */
  readonly key: string
  readonly depth: number
  /** Undefined for what has nothing below it. */
  readonly open?: boolean
}

export abstract class KeyedView<Row extends KeyedRow> extends View {
  #rows: readonly Row[] | undefined
  /** By key: what was opened or closed by hand. */
  protected readonly opened = new Map<string, boolean>()
  #selected: string | undefined

  protected abstract makeRows(): readonly Row[]

  protected get rows(): readonly Row[] {
    this.#rows ??= this.makeRows()
    return this.#rows
  }

  /** Of the row that is selected before anyone has selected one; undefined for the first. */
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
