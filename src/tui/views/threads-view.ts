// View of threads and their costs inside the roots. The user can restrict the other views to one thread.

import { maxOf } from '../../base/arrays.ts'
import type { Activity } from '../../cct/activity.ts'
import type { ThreadTree, Tree } from '../../cct/tree.ts'
import { column, rootTotal } from '../../profile/profile.ts'
import { ASCII_BARS, BARS } from '../../profile/region-text.ts'
import { kept } from '../baseline.ts'
import { clean, count, cut, pad, percent, right, shortCount, width } from '../format.ts'
import { glyphsOf, partWord, rowLine, run } from '../frame-lines.ts'
import type { Scene } from '../lines.ts'
import { order, type Sort, type SortColumn } from '../rows.ts'
import type { Line } from '../screen.ts'
import { columnUnder, headLine, heatOf, wordsOf } from './columns.ts'
import { barLines } from './timeline-view.ts'
import { NOT_FOLDED, View } from './view.ts'

const CELLS = { total: 12, share: 8, calls: 12, bar: 14, id: 9 } as const
/** Columns in display order, with their widths. */
const COLUMNS = [
  { sort: 'total', cells: CELLS.total },
  { sort: 'share', cells: CELLS.share },
  { sort: 'calls', cells: CELLS.calls },
] as const
const BAR_CELLS = 10
/** Thread id of the row that sums all virtual threads. */
const VIRTUAL = 0
/** Number of seconds in the activity chart: on a narrow screen, and on a wide screen. */
const [FEW_SECONDS, MANY_SECONDS] = [12, 40]

/** Layout of the charts between the numbers and the name: share bar, activity per second, or both. */
interface Pictures {
  readonly hasBar: boolean
  readonly seconds: number
  /** Activity in one second that is drawn as a bar of full height: the maximum of any thread. */
  readonly most: number
}

export class ThreadsView extends View {
  override sort: Sort = { column: 'total', reversed: false }
  override readonly whyUnfolded = NOT_FOLDED
  override readonly isFiltered = false
  override readonly searched = 'thread'
  /** Id of the selected thread; undefined if the row of all threads is selected. */
  #selected: number | undefined
  #sorted: readonly ThreadTree[] | undefined
  readonly #costsOf = kept(costsOf)

  /** Selects the row of the thread that the other views show. */
  begin(): void {
    this.#selected = this.model.thread
    this.renew()
    this.keepInSight()
  }

  get #threads(): readonly ThreadTree[] {
    this.#sorted ??= this.#inOrder()
    return this.#sorted
  }

  #inOrder(): readonly ThreadTree[] {
    const { column: by, reversed } = this.sort
    const sign = reversed ? -1 : 1
    const names = (a: ThreadTree, b: ThreadTree) => order(a.name, b.name) || a.id - b.id
    if (by === 'name') return this.model.snapshot.threads.toSorted((a, b) => sign * names(a, b))
    const costOf = (it: ThreadTree) => this.#costsOf(it.tree)[by === 'calls' ? 'calls' : 'total']
    return this.model.snapshot.threads.toSorted((a, b) => sign * (costOf(b) - costOf(a)) || names(a, b))
  }

  override get count(): number {
    return this.#threads.length + 1
  }

  override get index(): number {
    return 1 + this.#threads.findIndex(({ id }) => id === this.#selected)
  }

  override sortAs(sort: Sort): void {
    // The order by share is the order by total. This view has no column of self cost.
    const { column: by } = sort
    const column = by === 'self' ? 'calls' : by === 'share' ? 'total' : by === 'perCall' ? 'name' : by
    super.sortAs({ ...sort, column })
  }

  protected override rebuild(): void {
    this.#sorted = undefined
  }

  protected override select(index: number): void {
    this.#selected = this.#threads[index - 1]?.id
  }

  override enter(): void {
    this.model.chooseThread(this.#selected)
  }

  override back(): boolean {
    this.model.leaveThreads()
    return true
  }

  override find(direction: 1 | -1): number {
    const wanted = this.model.search.toLowerCase()
    const threads = this.#threads
    return this.findAround(direction, (at) => at > 0 && threads[at - 1]!.name.toLowerCase().includes(wanted))
  }

  override detail(scene: Scene): string {
    const isAll = this.#selected === undefined
    const selected = this.#threads.find(({ id }) => id === this.#selected)
    const activity = isAll ? sumOf(this.#threads) : selected?.activity
    if (activity === undefined || isOver(scene))
      return isAll
        ? `Enter: show all ${partWord(scene.status)}s`
        : `Enter: show only this ${partWord(scene.status)}`
    const { inside, perSecond } = activity
    const told = `${shortCount(perSecond.at(-1) ?? 0)} ${inside === undefined ? 'samples' : 'events'} in the last second`
    const many = isAll || (inside ?? 0) > 1 ? `${inside} ` : inside === 0 ? 'not ' : ''
    const where = inside === undefined ? '' : `, ${many}inside a root now`
    return `Enter: show ${isAll ? `all ${partWord(scene.status)}s` : `this ${partWord(scene.status)}`}; ${told}${where}`
  }

  /** Returns the layout of charts. Share bars are shown on wide screens, or if the activity of all threads is unknown. */
  #pictures(columns: number): Pictures {
    const known = this.#threads.flatMap(({ activity }) => (activity === undefined ? [] : [activity]))
    if (known.length === 0) return { hasBar: true, seconds: 0, most: 0 }
    const seconds = columns >= 120 ? MANY_SECONDS : FEW_SECONDS
    const single = this.#threads.flatMap(({ activity, id }) => (id === VIRTUAL ? [] : (activity ?? [])))
    const most = single.reduce((all, it) => maxOf(it.perSecond.subarray(-seconds), all), 0)
    return { hasBar: columns >= 120, seconds, most }
  }

  override columnAt(_scene: Scene, cell: number): SortColumn {
    return columnUnder(COLUMNS, cell)
  }

  override head(scene: Scene): Line {
    const words = wordsOf(scene)
    const titles: Partial<Record<SortColumn, string>> = {
      total: words.total,
      share: '% all',
      calls: words.calls,
    }
    const columns = COLUMNS.map((it) => ({ ...it, title: titles[it.sort] ?? '' }))
    const { hasBar, seconds } = this.#pictures(scene.columns)
    const lately = seconds > 0 ? `  ${pad(`last ${seconds} s`, seconds)}` : ''
    const rest = `${' '.repeat(hasBar ? CELLS.bar : 0)}${lately}${right('id', CELLS.id)}${' '.repeat(seconds > 0 ? 3 : 2)}`
    return headLine(scene, this.sort, columns, rest, partWord(scene.status))
  }

  override body(scene: Scene): Line[] {
    const whole = this.#costsOf(this.model.snapshot.merged).total
    const pictures = this.#pictures(scene.columns)
    return this.lines(this.inSight([undefined, ...this.#threads]), (thread, isSelected) =>
      rowLine(this.#row(scene, thread, whole, pictures), isSelected, scene.columns),
    )
  }

  #row(
    scene: Scene,
    thread: ThreadTree | undefined,
    whole: number,
    { hasBar, seconds, most }: Pictures,
  ): Line {
    const { columns } = scene
    const words = wordsOf(scene)
    const { active, bar } = glyphsOf(scene)
    const { total, calls } = this.#costsOf(thread?.tree ?? this.model.snapshot.merged)
    const part = whole > 0 ? Math.max(0, Math.min(1, total / whole)) : 0
    const numbers =
      right(words.cost(total, CELLS.total - 1), CELLS.total) +
      right(percent(total, whole), CELLS.share) +
      right(count(calls, CELLS.calls - 1), CELLS.calls)
    const cells = Math.round(part * BAR_CELLS)
    const activity = thread === undefined ? sumOf(this.#threads) : thread.activity
    const isSingle = thread !== undefined && thread.id !== VIRTUAL
    const share = hasBar ? `  ${pad(bar.repeat(cells), BAR_CELLS)}  ` : ''
    const lately = seconds > 0 ? `  ${sparkline(scene, activity, seconds, isSingle ? most : undefined)}` : ''
    const name = thread === undefined ? `all ${partWord(scene.status)}s` : clean(thread.name)
    const id = right(thread === undefined ? '' : `${thread.id}`, CELLS.id)
    const isInside = thread !== undefined && (activity?.inside ?? 0) > 0 && !isOver(scene)
    const mark = pad(isInside ? ` ${active}` : '', seconds > 0 ? 3 : 2)
    const who = cut(name, columns - width(numbers + share + lately + id + mark))
    const wanted = this.model.search.toLowerCase()
    const isMatch = wanted !== '' && name.toLowerCase().includes(wanted)
    return [
      run(numbers, heatOf(total, whole)),
      run(share + lately, 'dim'),
      run(id),
      run(mark, 'good'),
      run(who, isMatch ? 'match' : 'plain'),
    ]
  }
}

function costsOf(tree: Tree): { readonly total: number; readonly calls: number } {
  const calls = column(tree, 'calls')
  let sum = 0
  for (let node = 0; node < tree.count; node++) sum += calls[node]!
  return { total: rootTotal(tree), calls: sum }
}

/** Returns whether the session has ended. The activity is then not current. */
function isOver({ ended, status }: Scene): boolean {
  return ended !== undefined || status.phase === 'ended'
}

/** Returns the activity of all threads; undefined if unknown for every thread. */
function sumOf(threads: readonly ThreadTree[]): Activity | undefined {
  const known = threads.flatMap(({ activity }) => (activity === undefined ? [] : [activity]))
  const [one] = known
  if (one === undefined) return undefined
  const perSecond = one.perSecond.map((_, i) => known.reduce((sum, it) => sum + (it.perSecond[i] ?? 0), 0))
  const inside = known.reduce((sum, it) => sum + (it.inside ?? 0), 0)
  return { perSecond, ...(one.inside !== undefined && { inside }) }
}

/** Returns an activity chart, the latest second at the right. @param most  value of a full-height bar; default: the maximum */
function sparkline(scene: Scene, activity: Activity | undefined, seconds: number, most?: number): string {
  const values = [...(activity?.perSecond.subarray(-seconds) ?? [])]
  const largest = most ?? values.reduce((all, it) => Math.max(all, it), 0)
  const [line = ''] = barLines(values, largest, 1, scene.unicode ? BARS : ASCII_BARS)
  return right(line, seconds)
}
