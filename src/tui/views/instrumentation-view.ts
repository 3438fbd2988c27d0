// View of the instrumentation of the target: redefinitions, methods with probes, skipped methods with reasons.

import { cut, pad, right } from '../format.ts'
import { glyphsOf, rowLine, run } from '../frame-lines.ts'
import { type InstrumentationRow, instrumentationRows } from '../instrumentation-rows.ts'
import type { Scene } from '../lines.ts'
import type { Sort, SortColumn } from '../rows.ts'
import type { Line } from '../screen.ts'
import { markerOf } from './columns.ts'
import { KeyedView } from './keyed-view.ts'
import { NOT_FOLDED } from './view.ts'

const NUMBER_CELLS = 13
const WHEN_CELLS = 9

/** Groups that are open by default. */
const OPEN = ['swaps', 'skipped']

export class InstrumentationView extends KeyedView<InstrumentationRow> {
  override sort: Sort = { column: 'calls', reversed: false }
  override readonly whyUnfolded = NOT_FOLDED
  override readonly isFiltered = false
  override readonly searched = 'row'

  protected override makeRows(): readonly InstrumentationRow[] {
    const facts = this.model.source.instrumentation?.()
    const isOpen = (key: string): boolean => this.opened.get(key) ?? OPEN.includes(key)
    return facts === undefined
      ? []
      : instrumentationRows(facts, this.model.snapshot.merged, this.sort, isOpen)
  }

  override nothing(): string | undefined {
    return this.model.source.instrumentation?.() === undefined
      ? 'No instrumentation data: no method has probes, or the JVM is on another machine, or several JVMs are profiled.'
      : undefined
  }

  /** Sorts methods by number of calls, by time of the first call (column `perCall`), or by name. */
  override sortAs({ column, reversed }: Sort): void {
    const by = column === 'perCall' || column === 'name' ? column : 'calls'
    super.sortAs({ column: by, reversed: reversed && by === this.sort.column })
  }

  /** Selects the next match. Searches open groups only. */
  override find(direction: 1 | -1): number {
    const wanted = this.model.search.toLowerCase()
    return this.findAround(direction, (at) => this.rows[at]!.text.toLowerCase().includes(wanted))
  }

  override detail({ columns }: Scene): string | undefined {
    const { depth = 0, method, text = '', when = '' } = this.row ?? {}
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
    const mark = (by: SortColumn) => (by === this.sort.column ? (this.sort.reversed ? up : down) : '')
    const [number, when] = [`${mark('calls')}number`, `${mark('perCall')}when`]
    const heads = `${right(number, NUMBER_CELLS)}${right(when, WHEN_CELLS)}  ${mark('name')}code change`
    return [run(pad(heads, scene.columns), 'header')]
  }

  override body(scene: Scene): Line[] {
    const { columns } = scene
    const glyphs = glyphsOf(scene)
    const wanted = this.model.search.toLowerCase()
    return this.lines(this.inSight(this.rows), (row, isSelected) => {
      const before = `  ${'  '.repeat(row.depth)}`
      const number = right(row.number, NUMBER_CELLS) + right(row.when, WHEN_CELLS)
      const text = cut(row.text, columns - number.length - before.length - 2)
      const isMatch = wanted !== '' && row.text.toLowerCase().includes(wanted)
      const runs = [
        run(number + before),
        run(markerOf(row, glyphs), 'key'),
        run(text, isMatch ? 'match' : 'plain'),
      ]
      return rowLine(runs, isSelected, columns)
    })
  }
}
