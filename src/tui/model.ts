// What the live view shows and what is selected, open, sorted and searched in it; how that survives a
// new snapshot. Knows nothing of drawing, keys or the session.

import { costsOf } from '../cct/metric.ts'
import type { Snapshot, ThreadTree, Tree } from '../cct/tree.ts'
import { clean, count } from './format.ts'
import type { PageName, ViewName } from './keys.ts'
import { Pages } from './pages.ts'
import {
  Expansion,
  HotRows,
  hottestPath,
  type NameText,
  type Path,
  SORT_COLUMNS,
  type Sort,
  type SortColumn,
  TreeRows,
} from './rows.ts'
import { matcher, NodeMatches } from './search.ts'

/** Levels of the hottest path that are open before anyone has opened or closed anything. */
const HOTTEST_LEVELS = 6

const EMPTY: Tree = {
  count: 0,
  method: new Int32Array(0),
  parent: new Int32Array(0),
  size: new Int32Array(0),
  metrics: {},
}

export class LiveModel {
  readonly nameText: NameText
  /** How many rows fit on the screen. */
  bodyRows = 1
  view: ViewName = 'tree'
  readonly pages = new Pages<PageName>()
  /** Whether the selected row says how sure its times are, where that is known. */
  showsErrors = true
  /** Selected line of the thread page; 0 is all threads. */
  threadChoice = 0
  /** Thread whose tree is shown; undefined for all. */
  thread: number | undefined
  /** What matches are sought; empty for nothing. */
  search = ''
  /** The search while it is being typed. */
  typing: string | undefined

  rows: TreeRows
  #hot: HotRows | undefined
  #snapshot: Snapshot | undefined
  readonly #say: (notice: string) => void
  readonly #sorts: { [view in ViewName]: Sort } = {
    tree: { column: 'total', reversed: false },
    hot: { column: 'self', reversed: false },
  }
  readonly #first: { [view in ViewName]: number } = { tree: 0, hot: 0 }
  readonly #expansion = new Expansion()
  #openedByHand = false
  /** The selected node as a path, since indices change; and the selected method of the hot view. */
  #selected: Path = []
  #selectedHot: number | undefined

  /** @param say  where a word to the user goes, such as a search without matches */
  constructor(nameText: NameText, say: (notice: string) => void) {
    this.nameText = nameText
    this.#say = say
    this.rows = new TreeRows(EMPTY, this.#expansion, this.sort, nameText)
  }

  get sort(): Sort {
    return this.#sorts[this.view]
  }

  /** Index of the first row on the screen. */
  get first(): number {
    return this.#first[this.view]
  }

  get threads(): readonly ThreadTree[] {
    return this.#snapshot?.threads ?? []
  }

  get merged(): Tree {
    return this.#snapshot?.merged ?? EMPTY
  }

  /** The tree shown: of all threads, or of the chosen one. */
  get tree(): Tree {
    return this.rows.tree
  }

  get hot(): HotRows {
    this.#hot ??= new HotRows(this.tree, this.#sorts.hot, this.nameText)
    return this.#hot
  }

  /** Rows of the view, on the screen or not. */
  get count(): number {
    return this.view === 'tree' ? this.rows.count : this.hot.count
  }

  /** Index of the selected row. */
  get index(): number {
    if (this.view === 'hot') {
      return this.#selectedHot === undefined ? 0 : Math.max(0, this.hot.find(this.#selectedHot))
    }
    const node = this.rows.resolve(this.#selected)
    return node < 0 ? 0 : this.rows.find(node).index
  }

  /** Selected node of the tree; -1 when there is none. */
  get node(): number {
    return this.rows.window(this.index, 1)[0]?.node ?? -1
  }

  /** Method id of the selected row. */
  get method(): number | undefined {
    if (this.view === 'hot') return this.hot.methods[this.index]?.method
    const { node } = this
    return node < 0 ? undefined : this.tree.method[node]
  }

  take(snapshot: Snapshot): void {
    this.#snapshot = snapshot
    this.#renew()
  }

  /** Rows anew; the selected one stays in its line of the screen. */
  #renew(): void {
    const line = this.index - this.first
    const chosen = this.threads.find((thread) => thread.id === this.thread)
    const tree = this.thread === undefined ? this.merged : (chosen?.tree ?? EMPTY)
    if (!this.#openedByHand) {
      const hottest = hottestPath(tree, HOTTEST_LEVELS)
      for (let depth = 1; depth <= hottest.length; depth++) this.#expansion.set(hottest.slice(0, depth), true)
    }
    this.rows = new TreeRows(tree, this.#expansion, this.#sorts.tree, this.nameText)
    this.#hot = undefined
    this.#scrollTo(this.index - line)
  }

  #scrollTo(first: number): void {
    const last = Math.max(0, this.count - this.bodyRows)
    this.#first[this.view] = Math.max(0, Math.min(first, last))
  }

  #keepInSight(index: number): void {
    if (index < this.first) this.#first[this.view] = index
    else if (index >= this.first + this.bodyRows) this.#first[this.view] = index - this.bodyRows + 1
  }

  /** After the screen has another size. */
  resize(bodyRows: number): void {
    this.bodyRows = bodyRows
    this.#scrollTo(this.first)
    this.#keepInSight(this.index)
  }

  moveTo(wanted: number): void {
    const index = Math.max(0, Math.min(wanted, this.count - 1))
    if (this.view === 'hot') {
      this.#selectedHot = this.hot.methods[index]?.method
    } else {
      const [row] = this.rows.window(index, 1)
      if (row) this.#selected = this.rows.path(row.node)
    }
    this.#keepInSight(index)
  }

  move(rows: number): void {
    this.moveTo(this.index + rows)
  }

  movePages(pages: number): void {
    const rows = pages * (this.bodyRows - 1)
    const index = this.index
    this.#scrollTo(this.first + rows)
    this.moveTo(index + rows)
  }

  /** Moves the rows under the screen; the selection stays in sight. */
  scroll(rows: number): void {
    this.#scrollTo(this.first + rows)
    const { index, first } = this
    const last = first + this.bodyRows - 1
    if (index < first) this.moveTo(first)
    else if (index > last) this.moveTo(last)
  }

  show(view: ViewName): void {
    this.pages.close()
    this.view = view
    this.#scrollTo(this.first)
    this.#keepInSight(this.index)
  }

  toggle(page: PageName): void {
    this.pages.toggle(page)
    this.threadChoice = 1 + this.threads.findIndex((thread) => thread.id === this.thread)
  }

  chooseThread(choice: number): void {
    this.thread = this.threads[choice - 1]?.id
    this.pages.close()
    this.#renew()
  }

  sortNext(): void {
    const at = SORT_COLUMNS.indexOf(this.sort.column)
    this.#sortAs({ column: SORT_COLUMNS[(at + 1) % SORT_COLUMNS.length]!, reversed: false })
  }

  sortBy(by: SortColumn): void {
    this.#sortAs({ column: by, reversed: this.sort.column === by && !this.sort.reversed })
  }

  reverse(): void {
    this.#sortAs({ column: this.sort.column, reversed: !this.sort.reversed })
  }

  #sortAs(sort: Sort): void {
    this.#sorts[this.view] = sort
    this.#renew()
  }

  isOpen(node: number): boolean {
    return this.tree.size[node]! > 1 && this.rows.rowsOf(node) > 1
  }

  fold(node: number, open: boolean): void {
    this.#openedByHand = true
    this.#selected = this.rows.path(node)
    this.#expansion.set(this.#selected, open)
    this.#renew()
  }

  enter(): void {
    if (this.view === 'hot') this.#fromHotToTree()
    else if (this.node >= 0) this.fold(this.node, !this.isOpen(this.node))
  }

  goRight(): void {
    const node = this.view === 'tree' ? this.node : -1
    if (node < 0 || this.tree.size[node] === 1) return
    if (this.isOpen(node)) this.move(1)
    else this.fold(node, true)
  }

  goLeft(): void {
    const node = this.view === 'tree' ? this.node : -1
    if (node < 0) return
    const above = this.tree.parent[node]!
    if (this.isOpen(node)) this.fold(node, false)
    else if (above >= 0) this.#select(above)
  }

  openBelow(): void {
    const node = this.view === 'tree' ? this.node : -1
    if (node < 0) return
    this.#openedByHand = true
    const allOpen = this.rows.rowsOf(node) === this.tree.size[node]
    this.#expansion.setBelow(this.rows.path(node), !allOpen)
    this.#renew()
  }

  #select(node: number): void {
    this.#selected = this.rows.path(node)
    this.#keepInSight(this.index)
  }

  /** Opens the way to a node and selects it, with some rows around it. */
  #reveal(node: number): void {
    this.#openedByHand = true
    this.#expansion.reveal(this.rows.path(node))
    this.#renew()
    this.#select(node)
    const line = this.index - this.first
    if (line < 2 || line > this.bodyRows - 3) this.#scrollTo(this.index - Math.floor(this.bodyRows / 3))
  }

  /** From a hot method to the place in the tree where it spends most. */
  #fromHotToTree(): void {
    const wanted = this.method
    const { method, count: nodes } = this.tree
    const { self } = costsOf(this.tree)
    let best = -1
    for (let i = 0; i < nodes; i++) {
      if (method[i] === wanted && (best < 0 || self[i]! > self[best]!)) best = i
    }
    this.show('tree')
    if (best >= 0) this.#reveal(best)
  }

  /** Takes one key while a search is typed. */
  type(key: string): void {
    const typed = this.typing ?? ''
    if (key === 'escape') this.#endTyping('')
    else if (key === 'enter') {
      this.#endTyping(typed)
      if (typed !== '') this.nextMatch(1)
    } else if (key === 'backspace') {
      if (typed === '') this.#endTyping('')
      else this.typing = [...typed].slice(0, -1).join('')
    } else if (key === 'space') this.typing = `${typed} `
    else if ([...key].length === 1) this.typing = typed + clean(key)
    if (this.typing !== undefined) this.search = this.typing
  }

  #endTyping(search: string): void {
    this.typing = undefined
    this.search = search
  }

  nextMatch(direction: 1 | -1): void {
    if (this.search === '') {
      this.#say('nothing is searched for yet: type / and a part of a name')
      return
    }
    const found = this.view === 'hot' ? this.#nextHot(direction) : this.#nextNode(direction)
    const matches = `"${clean(this.search)}"`
    this.#say(
      found === 0 ? `no method here matches ${matches}` : `${matches}: ${count(found)} found, n and N go on`,
    )
  }

  /** Selects the next matching method; returns how many match. */
  #nextHot(direction: 1 | -1): number {
    const matches = matcher(this.search, this.nameText)
    const { methods } = this.hot
    const from = this.index
    for (let step = 1; step <= methods.length; step++) {
      const at = (from + direction * step + 2 * methods.length) % methods.length
      if (!matches(methods[at]!.method)) continue
      this.moveTo(at)
      return methods.filter((hot) => matches(hot.method)).length
    }
    return 0
  }

  #nextNode(direction: 1 | -1): number {
    const matches = new NodeMatches(this.rows, matcher(this.search, this.nameText))
    const node = direction > 0 ? matches.next(this.node) : matches.previous(this.node)
    if (node >= 0) this.#reveal(node)
    return matches.count
  }
}
