// Threads, and what each of them spent inside the roots: one can be chosen, and then has the other views to itself.

import type { ThreadTree, Tree } from '../../cct/tree.ts'
import { column, rootTotal } from '../../profile/profile.ts'
import { clean, count, cut, pad, percent, right, width } from '../format.ts'
import { glyphsOf, run } from '../frame-lines.ts'
import type { Scene } from '../lines.ts'
import type { Sort, SortColumn } from '../rows.ts'
import type { Line, Run } from '../screen.ts'
import { heatOf, wordsOf } from './columns.ts'
import { type Shared, View } from './view.ts'

/** What can be done with threads. */
export interface ThreadChoice {
  readonly threads: readonly ThreadTree[]
  /** The chosen one; undefined for all. */
  readonly thread: number | undefined
  /** Shows its tree, or that of all. */
  chooseThread(id: number | undefined): void
  /** Back to what was shown before. */
  leaveThreads(): void
}

interface Costs {
  readonly total: number
  readonly calls: number
}

const CELLS = { total: 12, share: 8, calls: 12, bar: 14, id: 9 } as const
/** In order, with their widths. */
const COLUMNS: readonly (readonly [SortColumn, number])[] = [
  ['total', CELLS.total],
  ['share', CELLS.share],
  ['calls', CELLS.calls],
]
const BAR_CELLS = 10

export class ThreadsView extends View {
  readonly #choice: ThreadChoice
  #sort: Sort = { column: 'total', reversed: false }
  /** Id of the selected thread; undefined for the row of all. */
  #selected: number | undefined
  #sorted: readonly ThreadTree[] | undefined
  /** Trees do not change. */
  readonly #costs = new WeakMap<Tree, Costs>()

  constructor(shared: Shared, choice: ThreadChoice) {
    super(shared)
    this.#choice = choice
  }

  /** Begins at the chosen one. */
  begin(): void {
    this.#selected = this.#choice.thread
    this.renew()
    this.keepInSight()
  }

  get #threads(): readonly ThreadTree[] {
    this.#sorted ??= this.#inOrder()
    return this.#sorted
  }

  #inOrder(): readonly ThreadTree[] {
    const { column: by, reversed } = this.#sort
    const sign = reversed ? -1 : 1
    const names = (a: ThreadTree, b: ThreadTree) => (a.name < b.name ? -1 : a.name > b.name ? 1 : a.id - b.id)
    if (by === 'name') return this.#choice.threads.toSorted((a, b) => sign * names(a, b))
    const costOf = (it: ThreadTree) => this.#costsOf(it.tree)[by === 'calls' ? 'calls' : 'total']
    return this.#choice.threads.toSorted((a, b) => sign * (costOf(b) - costOf(a)) || names(a, b))
  }

  #costsOf(tree: Tree): Costs {
    const known = this.#costs.get(tree)
    if (known !== undefined) return known
    const calls = column(tree, 'calls')
    let sum = 0
    for (let node = 0; node < tree.count; node++) sum += calls[node]!
    const costs = { total: rootTotal(tree), calls: sum }
    this.#costs.set(tree, costs)
    return costs
  }

  override get count(): number {
    return this.#threads.length + 1
  }

  override get index(): number {
    return 1 + this.#threads.findIndex(({ id }) => id === this.#selected)
  }

  override get sort(): Sort {
    return this.#sort
  }

  protected override setSort(sort: Sort): void {
    // A share is a total, and threads have no time of their own.
    const { column: by } = sort
    this.#sort = {
      ...sort,
      column: by === 'self' ? 'calls' : by === 'share' ? 'total' : by === 'perCall' ? 'name' : by,
    }
  }

  protected override rebuild(): void {
    this.#sorted = undefined
  }

  protected override select(index: number): void {
    this.#selected = this.#threads[index - 1]?.id
  }

  override enter(): void {
    this.#choice.chooseThread(this.#selected)
  }

  override back(): boolean {
    this.#choice.leaveThreads()
    return true
  }

  protected override find(direction: 1 | -1): number {
    const wanted = this.shared.search.toLowerCase()
    const threads = this.#threads
    const matches = (thread: ThreadTree | undefined) => thread?.name.toLowerCase().includes(wanted) === true
    const from = direction > 0 ? this.index - 1 : Math.max(0, this.index - 1)
    for (let step = 1; step <= threads.length; step++) {
      const at = (from + direction * step + 2 * threads.length) % threads.length
      if (!matches(threads[at])) continue
      this.moveTo(at + 1)
      return threads.filter(matches).length
    }
    return 0
  }

  override detail(): string {
    return this.#selected === undefined ? 'Enter shows all threads' : 'Enter shows this thread alone'
  }

  override columnAt(_scene: Scene, cell: number): SortColumn {
    let end = 0
    for (const [by, cells] of COLUMNS) {
      end += cells
      if (cell < end) return by
    }
    return 'name'
  }

  override head(scene: Scene): Line {
    const { down, up } = glyphsOf(scene)
    const words = wordsOf(scene)
    const { column: by, reversed } = this.#sort
    const head = (column: SortColumn, title: string): Run =>
      column === by ? run((reversed ? up : down) + title, 'sorted') : run(title, 'header')
    const line: Run[] = []
    const titles = [head('total', words.total), run('% all', 'header'), head('calls', words.calls)]
    for (const [i, title] of titles.entries()) {
      const cells = COLUMNS[i]?.[1] ?? 0
      line.push(run(' '.repeat(Math.max(0, cells - width(title.text))), 'header'), title)
    }
    const rest = `${' '.repeat(CELLS.bar)}${right('id', CELLS.id)}  `
    const name = head('name', 'thread')
    const used = CELLS.total + CELLS.share + CELLS.calls + rest.length + width(name.text)
    return [...line, run(rest, 'header'), name, run(' '.repeat(Math.max(0, scene.columns - used)), 'header')]
  }

  override body(scene: Scene): Line[] {
    const { first, index } = this
    const { bodyRows, merged } = this.shared
    const rows = [undefined, ...this.#threads].slice(first, first + bodyRows)
    const whole = this.#costsOf(merged).total
    return rows.map((thread, i) => this.#row(scene, thread, whole, first + i === index))
  }

  #row(scene: Scene, thread: ThreadTree | undefined, whole: number, isSelected: boolean): Line {
    const { columns } = scene
    const words = wordsOf(scene)
    const { bar } = glyphsOf(scene)
    const { total, calls } = this.#costsOf(thread?.tree ?? this.shared.merged)
    const part = whole > 0 ? Math.max(0, Math.min(1, total / whole)) : 0
    const numbers =
      right(words.cost(total, CELLS.total - 1), CELLS.total) +
      right(percent(total, whole), CELLS.share) +
      right(count(calls, CELLS.calls - 1), CELLS.calls)
    const cells = Math.round(part * BAR_CELLS)
    const share = `  ${pad(bar.repeat(cells), BAR_CELLS)}  `
    const name = thread === undefined ? 'all threads' : clean(thread.name)
    const room = columns - CELLS.total - CELLS.share - CELLS.calls - CELLS.bar - CELLS.id - 2
    const who = `${right(thread === undefined ? '' : `${thread.id}`, CELLS.id)}  ${cut(name, room)}`
    if (isSelected) return [run(pad(numbers + share + who, columns), 'selected')]
    const wanted = this.shared.search.toLowerCase()
    const isMatch = wanted !== '' && name.toLowerCase().includes(wanted)
    return [run(numbers, heatOf(total, whole)), run(share, 'dim'), run(who, isMatch ? 'match' : 'plain')]
  }
}
