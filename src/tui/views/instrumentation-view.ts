// What has been done to the target's code: redefinitions, methods with probes, and what was skipped and why.

import { cut, pad, right } from '../format.ts'
import { glyphsOf, run } from '../frame-lines.ts'
import type { InstrumentationFacts } from '../instrumentation.ts'
import { type InstrumentationRow, instrumentationRows, type MethodOrder } from '../instrumentation-rows.ts'
import type { Scene } from '../lines.ts'
import type { Sort, SortColumn } from '../rows.ts'
import type { Line } from '../screen.ts'
import { NOT_FOLDED, type Shared, View } from './view.ts'

const NUMBER_CELLS = 13
const WHEN_CELLS = 9

export class InstrumentationView extends View {
  readonly #facts: () => InstrumentationFacts | undefined
  #rows: readonly InstrumentationRow[] | undefined
  readonly #open = new Set(['swaps', 'skipped'])
  #selected = ''
  #order: MethodOrder = { by: 'calls', reversed: false }

  constructor(shared: Shared, facts: () => InstrumentationFacts | undefined) {
    super(shared)
    this.#facts = facts
  }

  get #shown(): readonly InstrumentationRow[] {
    const facts = this.#facts()
    this.#rows ??=
      facts === undefined
        ? []
        : instrumentationRows(facts, this.shared.merged, this.#order, (key) => this.#open.has(key))
    return this.#rows
  }

  override nothing(): string | undefined {
    return this.#facts() === undefined
      ? 'Nothing is known here of what has been done to code: no method has probes, or they are on another machine, or in several JVMs.'
      : undefined
  }

  override get count(): number {
    return this.#shown.length
  }

  override get index(): number {
    return Math.max(
      0,
      this.#shown.findIndex(({ key }) => key === this.#selected),
    )
  }

  get #row(): InstrumentationRow | undefined {
    return this.#shown[this.index]
  }

  override get whyUnfolded(): string {
    return NOT_FOLDED
  }

  override get isFiltered(): boolean {
    return false
  }

  override get searched(): string {
    return 'row'
  }

  override get sort(): Sort {
    const { by, reversed } = this.#order
    return { column: by === 'first' ? 'perCall' : by, reversed }
  }

  /** Methods are in order of their calls, of their first calls (the column behind that), or of their names. */
  protected override setSort({ column, reversed }: Sort): void {
    const by = column === 'perCall' ? 'first' : column === 'name' ? 'name' : 'calls'
    this.#order = { by, reversed: reversed && by === this.#order.by }
  }

  protected override rebuild(): void {
    this.#rows = undefined
  }

  protected override select(index: number): void {
    this.#selected = this.#shown[index]?.key ?? ''
  }

  override enter(): void {
    const row = this.#row
    if (row?.open === undefined) return
    this.#selected = row.key
    if (row.open) this.#open.delete(row.key)
    else this.#open.add(row.key)
    this.renew()
    this.keepInSight()
  }

  override goRight(): void {
    const open = this.#row?.open
    if (open === false) this.enter()
    else if (open === true) this.move(1)
  }

  override goLeft(): void {
    const row = this.#row
    if (row === undefined) return
    if (row.open === true) this.enter()
    else {
      const above = this.#shown.slice(0, this.index).findLastIndex((it) => it.depth < row.depth)
      if (above >= 0) this.moveTo(above)
    }
  }

  /** In groups that are open. */
  protected override find(direction: 1 | -1): number {
    const wanted = this.shared.search.toLowerCase()
    const rows = this.#shown
    const matches = (at: number) => rows[at]?.text.toLowerCase().includes(wanted) === true
    const from = this.index
    for (let step = 1; step <= rows.length; step++) {
      const at = (from + direction * step + 2 * rows.length) % rows.length
      if (!matches(at)) continue
      this.moveTo(at)
      return rows.filter((_, i) => matches(i)).length
    }
    return 0
  }

  override detail({ columns }: Scene): string | undefined {
    const { depth = 0, method, text = '', when = '' } = this.#row ?? {}
    const since = when === 'before' ? 'before counting began' : `${when} after counting began`
    const first =
      when === '' || depth === 0 ? '' : `${method === undefined ? ', ' : ', first called '}${since}`
    const room = columns - 2 - first.length
    return text.length <= room ? text + first : cut(text, columns - 2)
  }

  override columnAt(_scene: Scene, cell: number): SortColumn {
    return cell < NUMBER_CELLS ? 'calls' : cell < NUMBER_CELLS + WHEN_CELLS ? 'perCall' : 'name'
  }

  override head(scene: Scene): Line {
    const { down, up } = glyphsOf(scene)
    const mark = (by: MethodOrder['by']) => (by === this.#order.by ? (this.#order.reversed ? up : down) : '')
    const [number, when] = [`${mark('calls')}number`, `${mark('first')}when`]
    const heads = `${right(number, NUMBER_CELLS)}${right(when, WHEN_CELLS)}  ${mark('name')}what was done to the code`
    return [run(pad(heads, scene.columns), 'header')]
  }

  override body(scene: Scene): Line[] {
    const { columns } = scene
    const glyphs = glyphsOf(scene)
    const { search } = this.shared
    const wanted = search.toLowerCase()
    const { first, index } = this
    return this.#shown.slice(first, first + this.shared.bodyRows).map((row, i) => {
      const marker = row.open === undefined ? '  ' : `${row.open ? glyphs.open : glyphs.closed} `
      const before = `  ${'  '.repeat(row.depth)}`
      const number = right(row.number, NUMBER_CELLS) + right(row.when, WHEN_CELLS)
      const text = cut(row.text, columns - number.length - before.length - 2)
      if (first + i === index) return [run(pad(number + before + marker + text, columns), 'selected')]
      const isMatch = wanted !== '' && row.text.toLowerCase().includes(wanted)
      return [run(number + before), run(marker, 'key'), run(text, isMatch ? 'match' : 'plain')]
    })
  }
}
