// What the live view shows: one of several views of the picture, a thread, a page, a search. Knows nothing of drawing, keys or
// the session.

import type { Snapshot, ThreadTree, Tree } from '../cct/tree.ts'
import { clean, count } from './format.ts'
import type { PageName, ViewName } from './keys.ts'
import { Pages } from './pages.ts'
import { type NameText, SORT_COLUMNS, type SortColumn } from './rows.ts'
import { CallersView } from './views/callers-view.ts'
import { FlameView } from './views/flame-view.ts'
import { HotView } from './views/hot-view.ts'
import { TreeView } from './views/tree-view.ts'
import type { Shared, View } from './views/view.ts'

const EMPTY: Tree = {
  count: 0,
  method: new Int32Array(0),
  parent: new Int32Array(0),
  size: new Int32Array(0),
  metrics: {},
}

export class LiveModel implements Shared {
  readonly nameText: NameText
  /** Says a word to the user, such as of a search without matches. */
  readonly say: (notice: string) => void
  /** How many rows fit on the screen. */
  bodyRows = 1
  columns = 80
  readonly pages = new Pages<PageName>()
  /** Whether the selected row says how sure its times are, where that is known. */
  showsErrors = true
  /** Selected line of the thread page; 0 is all threads. */
  threadChoice = 0
  /** Thread whose tree is shown; undefined for all. */
  thread: number | undefined
  search = ''
  /** The search while it is being typed. */
  typing: string | undefined
  tree: Tree = EMPTY

  readonly #views: { readonly [name in ViewName]: View } & {
    readonly tree: TreeView
    readonly callers: CallersView
  }
  #shown: ViewName = 'tree'
  #snapshot: Snapshot | undefined

  constructor(nameText: NameText, say: (notice: string) => void) {
    this.nameText = nameText
    this.say = say
    this.#views = {
      tree: new TreeView(this),
      hot: new HotView(this),
      callers: new CallersView(this),
      flame: new FlameView(this),
    }
  }

  get view(): View {
    return this.#views[this.#shown]
  }

  get threads(): readonly ThreadTree[] {
    return this.#snapshot?.threads ?? []
  }

  get merged(): Tree {
    return this.#snapshot?.merged ?? EMPTY
  }

  take(snapshot: Snapshot): void {
    this.#snapshot = snapshot
    this.#renew()
  }

  /** The one that is shown now, the others when they are. */
  #renew(): void {
    const chosen = this.threads.find((thread) => thread.id === this.thread)
    this.tree = this.thread === undefined ? this.merged : (chosen?.tree ?? EMPTY)
    this.view.renew()
  }

  /** After the screen has another size. */
  resize(bodyRows: number, columns: number): void {
    this.bodyRows = bodyRows
    this.columns = columns
    this.view.settle()
  }

  show(name: ViewName): void {
    this.pages.close()
    if (this.#shown === name) return
    this.#shown = name
    this.view.renew()
    this.view.settle()
  }

  revealInTree(node: number): void {
    this.show('tree')
    if (node >= 0) this.#views.tree.reveal(node)
  }

  /** Of the selected method, in whatever view. */
  showCallers(): void {
    const { method } = this.view
    if (method !== undefined) this.#views.callers.choose(method)
    this.show('callers')
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
    const { sort } = this.view
    if (sort === undefined) {
      this.say('what is shown here has one order')
      return
    }
    const at = SORT_COLUMNS.indexOf(sort.column)
    this.view.sortAs({ column: SORT_COLUMNS[(at + 1) % SORT_COLUMNS.length]!, reversed: false })
  }

  sortBy(by: SortColumn): void {
    const { sort } = this.view
    if (sort !== undefined) this.view.sortAs({ column: by, reversed: sort.column === by && !sort.reversed })
  }

  reverse(): void {
    const { sort } = this.view
    if (sort !== undefined) this.view.sortAs({ column: sort.column, reversed: !sort.reversed })
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
      this.say('nothing is searched for yet: type / and a part of a name')
      return
    }
    const found = this.view.nextMatch(direction)
    const matches = `"${clean(this.search)}"`
    this.say(
      found === 0 ? `no method here matches ${matches}` : `${matches}: ${count(found)} found, n and N go on`,
    )
  }
}
