// State of the live view: current snapshot, view, thread, page, search. Independent of drawing, keys and session.

import { belowRoot } from '../cct/below-root.ts'
import type { MethodName, Snapshot, Tree } from '../cct/tree.ts'
import type { Range, RangeFacts } from '../profile/range.ts'
import { AS_IT_IS, type Baseline, changesSince, kept, type Shape, type ShownChanges } from './baseline.ts'
import { Filter } from './filter.ts'
import { clean, count } from './format.ts'
import type { PageName, ViewName } from './keys.ts'
import type { LiveSource } from './live-source.ts'
import { Packages } from './packages.ts'
import { Pages } from './pages.ts'
import { type NameText, nameTexts, SORT_COLUMNS, type SortColumn } from './rows.ts'
import { SlowChoice } from './slow-choice.ts'
import type { SourceChoice } from './source-choice.ts'
import { CallersChangesView } from './views/callers-changes-view.ts'
import { CallersView } from './views/callers-view.ts'
import { ChangesView } from './views/changes-view.ts'
import { FlameChangesView } from './views/flame-changes-view.ts'
import { FlameView } from './views/flame-view.ts'
import { HotView } from './views/hot-view.ts'
import { InstrumentationView } from './views/instrumentation-view.ts'
import { ThreadsView } from './views/threads-view.ts'
import { TimelineView } from './views/timeline-view.ts'
import { TraceView } from './views/trace-view.ts'
import { TreeView } from './views/tree-view.ts'
import type { View } from './views/view.ts'

const EMPTY: Tree = {
  count: 0,
  method: new Int32Array(0),
  parent: new Int32Array(0),
  size: new Int32Array(0),
  metrics: {},
}

/** Row grouping: by method or by package. Each grouping has its own open rows and selection. */
interface Names {
  readonly packages: Packages | undefined
  /** Returns the baseline tree in this grouping. */
  readonly baselineOf: (tree: Tree) => Tree
  readonly nameText: NameText
  readonly views: { readonly [name in ViewName]: View } & {
    readonly tree: TreeView
    readonly callers: CallersView
    readonly threads: ThreadsView
  }
}

/** Notices for the groupings. Each press of the key P selects the next grouping. */
const FOLD_WORDS = [
  'rows are methods',
  'rows are packages; calls inside a package are merged; totals are unchanged',
  'rows are packages, first two name parts; P shows methods again',
]
const FOLDS = [0, Number.POSITIVE_INFINITY, 2]

/** Views that replace other views while a baseline is set. */
const CHANGED: Partial<Readonly<Record<ViewName, ViewName>>> = {
  tree: 'changes',
  hot: 'hotChanges',
  callers: 'callersChanges',
  flame: 'flameChanges',
}

/** Views that depend neither on the chosen thread nor on the chosen root. */
const OF_NO_THREAD: readonly ViewName[] = ['instrumentation', 'timeline', 'trace']

const NOTHING: Snapshot = { merged: EMPTY, threads: [], events: 0, waitNs: 0, healed: 0 }
const NO_BASELINE: Baseline = { tree: EMPTY, isApart: true }

export class LiveModel {
  /** Number of rows that fit on the screen. */
  bodyRows = 1
  /** Width of the screen in cells. */
  columns = 80
  readonly pages = new Pages<PageName>()
  /** Id of the thread with the shown tree; undefined for all threads. */
  thread: number | undefined
  /** Search text; empty for no search. */
  search = ''
  /** Search text that the user is typing; undefined while no search is typed. */
  typing: string | undefined
  /** Newest snapshot. */
  snapshot: Snapshot = NOTHING
  /** Tree of all threads or of the chosen thread. Its nodes are packages if rows are grouped by package. */
  tree: Tree = EMPTY
  /** The tree before grouping: its nodes are always methods. */
  raw: Tree = EMPTY
  /** True if the whole JVM is sampled without a root, so shares refer to all samples. */
  isWholeJvm = false
  /** True if the JVM takes the samples, so calls are not counted. */
  isSampledByJvm = false
  /** Hides rows below a cost limit. */
  readonly filter = new Filter()
  /** Time range of the recording that the model contains; undefined if the model contains the whole recording. */
  range: RangeFacts | undefined
  /** Selects the calls that the trees show: all calls, slow calls, or one call. */
  readonly calls = new SlowChoice()

  /** The method whose source lines are shown; undefined until the user has chosen a method. */
  sourceOf: SourceChoice | undefined

  readonly #names: (Names | undefined)[] = []
  #fold = 0
  #root: number | undefined
  #shown: ViewName = 'tree'
  #beforeThreads: ViewName = 'tree'
  #baseline: Baseline | undefined
  /** Cached changes per shape, valid for the stored tree and baseline. */
  readonly #changes = new WeakMap<Shape, { tree: Tree; baseline: Baseline; changes: ShownChanges }>()

  /** View of traced calls. All groupings share it, since rows of traced calls are always methods. */
  readonly #traced: TraceView
  /** View of the timeline. All groupings share it, so that a selection is kept. */
  readonly #timeline: TimelineView

  /**
   * @param say        shows a notice, such as "no match"
   * @param showRange  shows a time range of the recording. Absent without a timeline
   */
  constructor(
    readonly source: Pick<LiveSource, 'methodName' | 'instrumentation' | 'ranges' | 'trace'>,
    readonly say: (notice: string) => void,
    readonly showRange: (range: Range) => void = () => {},
  ) {
    this.#traced = new TraceView(this)
    this.#timeline = new TimelineView(this)
  }

  /** Returns the name of a method, even if rows are grouped by package. */
  readonly methodName = (id: number): MethodName => this.source.methodName(id)

  get #by(): Names {
    const known = this.#names[this.#fold]
    if (known !== undefined) return known
    const packages = this.isFolded ? new Packages(this.methodName, FOLDS[this.#fold]) : undefined
    const callers = new CallersView(this)
    const made: Names = {
      packages,
      baselineOf: kept((tree: Tree) => packages?.fold(tree) ?? tree),
      nameText: nameTexts((id) => packages?.name(id) ?? this.methodName(id)),
      views: {
        tree: new TreeView(this),
        hot: new HotView(this),
        callers,
        flame: new FlameView(this),
        threads: new ThreadsView(this),
        instrumentation: new InstrumentationView(this),
        timeline: this.#timeline,
        trace: this.#traced,
        changes: new ChangesView(this, 'contexts'),
        hotChanges: new ChangesView(this, 'methods'),
        callersChanges: new CallersChangesView(this, () => callers.of),
        flameChanges: new FlameChangesView(this),
      },
    }
    this.#names[this.#fold] = made
    return made
  }

  /** Whether rows are packages. The ids in `tree` are then package ids, not method ids. */
  get isFolded(): boolean {
    return this.#fold !== 0
  }

  /** Returns the name of a row: of a method, or of a package if rows are grouped by package. */
  nameOf(id: number): MethodName {
    return this.#by.packages?.name(id) ?? this.methodName(id)
  }

  /** Returns the row id of a method: the id of its package if rows are grouped by package. */
  idOf(method: number): number {
    return this.#by.packages?.of(method) ?? method
  }

  get nameText(): NameText {
    return this.#by.nameText
  }

  get view(): View {
    if (this.#baseline === undefined) return this.#by.views[this.#shown]
    return this.#by.views[CHANGED[this.#shown] ?? this.#shown]
  }

  take(snapshot: Snapshot): void {
    this.snapshot = snapshot
    this.calls.slow = snapshot.slow
    this.#renew()
  }

  /** Updates the visible view. Other views are updated when they are shown. */
  #renew(): void {
    const { merged, threads } = this.snapshot
    const chosen = threads.find((thread) => thread.id === this.thread)
    const ofAll = this.thread === undefined ? merged : (chosen?.tree ?? EMPTY)
    this.raw = this.#belowRoot(this.calls.isOfAll ? ofAll : (this.calls.tree ?? EMPTY))
    this.tree = this.#by.packages?.fold(this.raw) ?? this.raw
    this.view.renew()
  }

  readonly #belowRoot = (tree: Tree): Tree => (this.#root === undefined ? tree : belowRoot(tree, this.#root))

  /** Id of the method whose calls are the roots of all trees; undefined if the trees have their recorded roots. */
  get root(): number | undefined {
    return this.#root
  }

  /** Whether shares refer to all samples of the JVM, and not to the samples of a root. */
  get sharesAreOfAll(): boolean {
    return this.isWholeJvm && this.#root === undefined
  }

  /** Shows all calls of a method as the root of the trees. @param method  undefined to show the recorded roots */
  chooseRoot(method: number | undefined): void {
    this.#root = method
    this.#baseline = undefined // the baseline contains other calls
    this.pages.close()
    this.#renew()
    if (method !== undefined && OF_NO_THREAD.includes(this.#shown)) this.show('tree')
    this.view.settle()
  }

  /** Selects the next grouping: methods, packages, packages by their first two name parts. */
  foldNext(): void {
    const { whyUnfolded } = this.view
    if (whyUnfolded !== undefined) {
      this.pages.close()
      this.say(whyUnfolded)
      return
    }
    this.#fold = (this.#fold + 1) % FOLDS.length
    this.#renew()
    this.view.settle()
    this.say(FOLD_WORDS[this.#fold] ?? '')
  }

  filterNext(): void {
    this.pages.close()
    if (!this.view.isFiltered) {
      this.say(this.view.whyUnfiltered)
      return
    }
    this.filter.next()
    this.#showAnew()
  }

  /** Shows all rows again. */
  unfilter(): void {
    if (this.filter.least === 0) return
    this.filter.least = 0
    this.#showAnew()
    this.say('all rows are shown again')
  }

  #showAnew(): void {
    this.view.renew()
    this.view.settle()
  }

  /** Handles a key during the input of a percentage. Returns whether the key was consumed. */
  typeFilter(key: string): boolean {
    const { least } = this.filter
    const taken = this.filter.type(key)
    if (this.filter.least !== least) this.#showAnew()
    if (typeof taken === 'boolean') return taken
    this.say(taken)
    return true
  }

  /** Adapts to a new screen size. */
  resize(bodyRows: number, columns: number): void {
    this.bodyRows = bodyRows
    this.columns = columns
    this.view.settle()
  }

  show(name: ViewName): void {
    this.pages.close()
    if (this.#shown === name) return
    this.#shown = name
    this.#showAnew()
  }

  /** Shows a node in the calling context tree. */
  revealInTree(node: number): void {
    this.show('tree')
    if (node >= 0) this.#by.views.tree.reveal(node)
  }

  /** Shows the callers of the selected method. */
  showCallers(): void {
    const { id } = this.view
    if (id !== undefined) this.#by.views.callers.choose(id)
    if (this.#shown === 'callers') this.#showAnew()
    this.show('callers')
  }

  toggle(page: PageName): void {
    this.pages.toggle(page)
    if (page === 'slow') this.calls.open()
  }

  get showsThreads(): boolean {
    return this.#shown === 'threads'
  }

  /** Shows the list of threads, or returns from this list to the previous view. */
  toggleThreads(): void {
    if (this.showsThreads) this.leaveThreads()
    else {
      this.#beforeThreads = this.#shown
      this.show('threads')
      this.#by.views.threads.begin()
    }
  }

  leaveThreads(): void {
    this.show(this.#beforeThreads)
  }

  chooseThread(id: number | undefined): void {
    this.thread = id
    this.calls.chooseAll()
    this.#baseline = undefined // the baseline contains other calls
    this.show(OF_NO_THREAD.includes(this.#beforeThreads) ? 'tree' : this.#beforeThreads)
    this.#renew()
  }

  /** Chooses calls by line number on the page of slow calls. */
  chooseCalls(line: number): void {
    this.calls.choose(line)
    this.#afterCalls()
  }

  chooseCall(number: number): void {
    this.calls.chooseCall(number)
    this.#afterCalls()
  }

  #afterCalls(): void {
    this.thread = undefined
    this.#baseline = undefined
    this.pages.close()
    this.#renew()
    this.view.settle()
  }

  /**
   * Sets a baseline: trees and methods then show changes since the baseline, per root call. The next call of this function removes the
   * baseline. For slow calls, the baseline is the tree of all calls.
   */
  toggleBaseline(): void {
    this.pages.close()
    if (this.#baseline !== undefined) {
      this.#baseline = undefined
      this.#showAnew()
      this.say('baseline removed: numbers are totals of the recording again')
      return
    }
    const tree = this.calls.isOfAll ? this.raw : this.#belowRoot(this.snapshot.merged)
    if (tree.count === 0) {
      this.say('no call is recorded yet, so there is no baseline')
      return
    }
    this.#baseline = { tree, isApart: !this.calls.isOfAll }
    if (CHANGED[this.#shown] === undefined) this.#shown = 'tree'
    this.#showAnew()
    const what = this.calls.isOfAll ? 'changes from now on' : 'slow calls minus all calls'
    this.say(`${what}, per root call; b again ends the comparison`)
  }

  /** Must be called after a reset, since the current counts then no longer include the baseline. */
  beginAtZero(): void {
    if (this.#baseline !== undefined) this.#baseline = { ...this.#baseline, isApart: true }
  }

  /** Returns the changes since the baseline, per root call. The default shape has one row per context. Cached for the current snapshot. */
  changes(shape: Shape = AS_IT_IS): ShownChanges {
    const { tree } = this
    const baseline = this.#baseline ?? NO_BASELINE
    const known = this.#changes.get(shape)
    if (known?.tree === tree && known.baseline === baseline) return known.changes
    const before = this.#by.baselineOf(baseline.tree)
    const changes = changesSince({ ...baseline, tree: before }, tree, shape)
    this.#changes.set(shape, { tree, baseline, changes })
    return changes
  }

  sortNext(): void {
    const { sort } = this.view
    if (sort === undefined) {
      this.say('this view cannot be sorted')
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

  /** Handles a key while a search is typed. */
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
      this.say('no search yet: type / and a part of a name')
      return
    }
    const found = this.view.find(direction)
    const matches = `"${clean(this.search)}"`
    const what = this.view.searched ?? (this.isFolded ? 'package' : 'method')
    const mayBeHidden = this.filter.least > 0 && !this.view.findsHidden
    this.say(
      found === 0
        ? `no ${what} here matches ${matches}${mayBeHidden ? ' (or the match is hidden)' : ''}`
        : `${matches}: ${count(found)} found; n: next, N: previous`,
    )
  }
}
