// View of traced calls: critical path, and calls in time order.

import type { Trace } from '../../cct/trace.ts'
import type { MethodName } from '../../cct/tree.ts'
import { tellsWaits } from '../../cct/waits.ts'
import { tooLongText } from '../../profile/trace-report.ts'
import {
  clean,
  count,
  cut,
  indent,
  pad,
  percent,
  right,
  shortName,
  signature,
  time,
  width,
} from '../format.ts'
import { glyphsOf, rowLine, run } from '../frame-lines.ts'
import type { Scene } from '../lines.ts'
import type { Path } from '../rows.ts'
import type { Line } from '../screen.ts'
import { matcher } from '../search.ts'
import { type Place, type TraceRow, TraceRows } from '../trace-rows.ts'
import { MAX_INDENT, markerOf } from './columns.ts'
import { KeyedView } from './keyed-view.ts'

const CELLS = { start: 10, total: 10, share: 8, calls: 9 } as const
const NAMES = CELLS.start + CELLS.total + CELLS.share + CELLS.calls + 2

export class TraceView extends KeyedView<TraceRow> {
  override readonly searched = 'method'
  override readonly whyUnfolded = 'traced calls have no package rows; P works in the views t, m, c and f'
  #calls: { readonly of: Trace; readonly rows: TraceRows } | undefined

  get #all(): TraceRows | undefined {
    const of = this.model.source.trace
    if (of === undefined) return undefined
    if (this.#calls?.of !== of) {
      const waits = tellsWaits(this.model.snapshot.merged)
      this.#calls = { of, rows: new TraceRows(of.calls, this.model.methodName, waits) }
    }
    return this.#calls.rows
  }

  protected override makeRows(): readonly TraceRow[] {
    return this.#all?.rows((key) => this.opened.get(key), this.model.filter.least) ?? []
  }

  override nothing(): string {
    const trace = this.model.source.trace
    if (trace !== undefined)
      return (trace.leftOut ?? 0) > 0
        ? 'No traced call can be shown: all kept traces were damaged.'
        : trace.ofSlow === undefined
          ? 'No root call started while tracing was on.'
          : trace.ofSlow.tooLong > 0
            ? `${tooLongText(trace.ofSlow.tooLong)}: their trees are in the list of slow calls (S).`
            : 'No slow call ended while slow calls were kept.'
    return (
      'No traced calls. Record with --trace <n> to keep every event of the first n root calls, or with --slow of the n slowest. Traced calls are shown by ' +
      'jfluid open, after the recording has ended or was saved with s.'
    )
  }

  protected override get firstKey(): string {
    return `${this.#all?.slowest ?? 0}`
  }

  override get id(): number | undefined {
    const { method } = this.row ?? {}
    return method === undefined ? undefined : this.model.idOf(method)
  }

  override get findsHidden(): boolean {
    return true
  }

  /** Path of the selected row. Its ids are method ids, even if rows of other views are packages. */
  override get path(): Path {
    const { call, method, place } = this.row ?? {}
    if (method === undefined) return []
    if (call === undefined || place === undefined) return [method]
    const { tree } = this.#all!.ordered(call, place.track)
    const path: number[] = []
    for (let node = place.node; node >= 0; node = tree.parent[node]!) path.unshift(tree.method[node]!)
    return path
  }

  override pathName(_scene: Scene, id: number): MethodName {
    return this.model.methodName(id)
  }

  override rowText({ unicode }: Scene): string | undefined {
    const row = this.row
    if (row === undefined) return undefined
    const { calls, method, startNs, text = '', totalNs, wholeNs } = row
    const name = method === undefined ? text : signature(this.model.methodName(method))
    const parts = [
      ...(startNs === undefined ? [] : [`start ${time(startNs, unicode).trim()}`]),
      ...(totalNs === undefined ? [] : [`total ${time(totalNs, unicode).trim()}`]),
      ...(totalNs === undefined ? [] : [`${percent(totalNs, wholeNs)} % of the call`]),
      ...(calls === undefined ? [] : [`calls ${count(calls)}`]),
    ]
    return parts.length === 0 ? name : `${name}  ${parts.join(', ')}`
  }

  /** Selects the next match. Searches all calls in time order, including calls in closed rows. */
  override find(direction: 1 | -1): number {
    const all = this.#all
    const row = this.row
    if (all === undefined || row === undefined) return 0
    const matches = matcher(this.model.search, (id) => this.#nameText(id))
    const from = { call: row.call, track: 0, node: -1, ...row.place }
    const order = (it: Place): number => it.call - from.call || it.track - from.track || it.node - from.node
    const found = all.places(matches)
    const place =
      direction > 0
        ? (found.find((it) => order(it) > 0) ?? found[0])
        : (found.findLast((it) => order(it) < 0) ?? found.at(-1))
    if (place === undefined) return 0
    all.keep(place)
    for (const key of all.keysAbove(place)) this.opened.set(key, true)
    this.renew()
    if (this.#indexOf(place) < 0) this.model.unfilter()
    this.moveTo(this.#indexOf(place))
    return found.length
  }

  #indexOf({ call, track, node }: Place): number {
    return this.rows.findIndex(
      (it) => it.call === call && it.place?.track === track && it.place.node === node,
    )
  }

  #nameText(id: number): string {
    const { class: of, method } = this.model.methodName(id)
    return clean(`${of}.${method}`)
  }

  override detail({ columns }: Scene): string | undefined {
    const { detail, method, text = '' } = this.row ?? {}
    if (method !== undefined)
      return this.model.isFolded ? signature(this.model.methodName(method)) : undefined
    return cut(detail ?? text, columns - 2)
  }

  override head({ columns }: Scene): Line {
    const numbers =
      right('start', CELLS.start) +
      right('total', CELLS.total) +
      right('% call', CELLS.share) +
      right('calls', CELLS.calls)
    return [run(pad(`${numbers}  traced calls; start: since the call began`, columns), 'header')]
  }

  override body(scene: Scene): Line[] {
    const { columns, unicode } = scene
    const glyphs = glyphsOf(scene)
    const matches = matcher(this.model.search, (id) => this.#nameText(id))
    return this.lines(this.inSight(this.rows), (row, isSelected) => {
      const { calls, depth, method, startNs, text = '', totalNs, wholeNs } = row
      const numbers =
        right(startNs === undefined ? '' : time(startNs, unicode), CELLS.start) +
        right(totalNs === undefined ? '' : time(totalNs, unicode), CELLS.total) +
        right(totalNs === undefined ? '' : percent(totalNs, wholeNs), CELLS.share) +
        right(calls === undefined ? '' : count(calls, CELLS.calls - 1), CELLS.calls)
      const before = `  ${indent(depth, (columns - NAMES) * MAX_INDENT)}`
      const marker = markerOf(row, glyphs)
      const room = columns - NAMES + 2 - width(before) - width(marker)
      const name =
        method === undefined
          ? cut(unicode ? text : text.replaceAll('…', '..').replaceAll('µ', 'u'), room)
          : shortName(this.model.methodName(method), room, glyphs.ellipsis)
      const isLong = (totalNs ?? 0) >= wholeNs / 2 && method !== undefined
      const isMatch = method !== undefined && matches(method)
      const style = isMatch ? 'match' : depth === 0 ? 'title' : method === undefined ? 'key' : 'plain'
      const runs = [
        run(numbers, isLong ? 'hot' : 'plain'),
        run(before, 'dim'),
        run(marker, 'key'),
        run(name, style),
      ]
      return rowLine(runs, isSelected, columns)
    })
  }
}
