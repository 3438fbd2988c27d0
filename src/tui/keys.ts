// The keys of the live views: for each one table, from which the help, the line of keys and the behaviour come.

import { SORT_COLUMNS, type SortColumn } from './rows.ts'

/** What keys can do to any view. */
export interface FrameActions {
  quit(): void
  suspend(): void
  pause(): void
  reset(): void
  save(): void
  export(): void
  toggle(page: FramePage): void
  escape(): void
  move(rows: number): void
}

/** What keys can do to the view of calls. */
export interface Actions extends FrameActions {
  toggle(page: PageName): void
  show(view: ViewName): void
  toggleThreads(): void
  showCallers(): void
  copyRow(): void
  copyPath(): void
  toggleBaseline(): void
  toggleSlow(): void
  freezeOnSlow(): void
  foldNext(): void
  filterNext(): void
  moveTo(index: number): void
  movePages(pages: number): void
  enter(): void
  goRight(): void
  goLeft(): void
  openBelow(): void
  startSearch(): void
  askRoot(): void
  askLeaveOut(): void
  listLeftOut(): void
  askTime(): void
  nextMatch(direction: 1 | -1): void
  sortNext(): void
  sortBy(column: SortColumn): void
  reverse(): void
}

export type ViewName =
  | 'tree'
  | 'hot'
  | 'callers'
  | 'flame'
  | 'instrumentation'
  | 'threads'
  | 'timeline'
  | 'trace'
  | 'changes'
  | 'hotChanges'
  | 'callersChanges'
  | 'flameChanges'
/** Pages that every view has. */
export type FramePage = 'help' | 'warnings'
export type PageName = FramePage | 'alive' | 'slow'

export interface Binding<On = Actions> {
  /** Names of keys, as input.ts gives them. */
  readonly keys: readonly string[]
  /** How the help calls them. */
  readonly label: string
  readonly help: string
  run(actions: On): void
  /** Word for the line of keys at the bottom. */
  readonly short?: string
  /** Does nothing in a file: it changes what is recorded, or waits for it. */
  readonly isForSession?: true
  /** What the help says instead while a file is looked at. */
  readonly inFile?: string
}

/** The keys that do something, as the help of a session or of a file lists them. */
export function keysFor<On>(bindings: readonly Binding<On>[], isFile: boolean): readonly Binding<On>[] {
  if (!isFile) return bindings
  return bindings
    .filter((it) => it.isForSession !== true)
    .map((it) => (it.inFile === undefined ? it : { ...it, help: it.inFile }))
}

const QUIT: Binding<FrameActions> = {
  ...bind<FrameActions>('q C-c', 'q', 'detach and leave', (on) => on.quit(), 'quit'),
  inFile: 'leave',
}
const HELP = bind<FrameActions>('? f1', '?', 'this page', (on) => on.toggle('help'), 'help')
const PAUSE = forSession(
  bind<FrameActions>('p', 'p', 'freeze what is shown; recording goes on', (on) => on.pause(), 'pause'),
)
const ZERO = forSession(
  bind<FrameActions>('z', 'z', 'begin all counts and times at zero', (on) => on.reset(), 'zero'),
)
const SAVE: Binding<FrameActions> = {
  ...bind<FrameActions>(
    's',
    's',
    'save what is recorded so far; recording goes on',
    (on) => on.save(),
    'save',
  ),
  inFile: 'save a copy',
}
const EXPORT = bind<FrameActions>(
  'e',
  'e',
  'export for other tools: choose a format, then a name',
  (on) => on.export(),
  'export',
)
const WARNINGS = bind<FrameActions>('w', 'w', 'warnings in full', (on) => on.toggle('warnings'))
const SUSPEND: Binding<FrameActions> = {
  ...bind<FrameActions>('C-z', 'Ctrl-Z', 'stop jfluid as a job, which ends the recording; fg returns', (on) =>
    on.suspend(),
  ),
  inFile: 'stop jfluid as a job; fg returns',
}

/** Of the view of calls. Most needed first: the line of keys shows as many as fit. */
export const BINDINGS: readonly Binding[] = [
  QUIT,
  HELP,
  bind(
    'enter space',
    'Enter',
    'open or close; from a hot method to its place; zoom in',
    (on) => on.enter(),
    'open',
  ),
  bind('/', '/', 'search for a class or method, in closed rows too', (on) => on.startSearch(), 'find'),
  bind('m', 'm', 'hot methods', (on) => on.show('hot'), 'hot'),
  bind('t', 't', 'calling context tree', (on) => on.show('tree'), 'tree'),
  bind('c', 'c', 'callers of the selected method, and theirs', (on) => on.showCallers(), 'callers'),
  bind('f', 'f', 'flame graph', (on) => on.show('flame'), 'flame'),
  forSession(
    bind('i', 'i', 'what was done to code: redefinitions, probes, and what was skipped', (on) =>
      on.show('instrumentation'),
    ),
  ),
  bind('b', 'b', 'baseline: from now on what changes, per call of the root; again: back', (on) =>
    on.toggleBaseline(),
  ),
  bind('S', 'S', 'slow calls: their trees, apart from all', (on) => on.toggleSlow()),
  forSession(
    bind('F', 'F', 'freeze at the next slow call, with its tree; F again goes on', (on) => on.freezeOnSlow()),
  ),
  bind('L', 'L', 'timeline: calls of the root, how long they took, events', (on) => on.show('timeline')),
  bind('C', 'C', 'traced calls: in the order of time, and their critical paths', (on) => on.show('trace')),
  bind(
    'o',
    'o',
    'sort by the next column (1 to 6, or a click on its head: by that)',
    (on) => on.sortNext(),
    'sort',
  ),
  bind('P', 'P', 'rows are packages, in full or by two parts of the name, or methods', (on) => on.foldNext()),
  bind('%', '%', 'hide rows below 0.1, 1, 5 % of their root, or a number you type', (on) => on.filterNext()),
  bind('y', 'y', 'copy the selected row to the clipboard of the terminal', (on) => on.copyRow()),
  bind('Y', 'Y', 'copy the way to it from the root, a line for each call', (on) => on.copyPath()),
  bind(
    'T',
    'T',
    'threads and what each spent; Enter shows one alone, or all',
    (on) => on.toggleThreads(),
    'thread',
  ),
  PAUSE,
  ZERO,
  SAVE,
  EXPORT,
  bind('*', '*', 'open or close everything below', (on) => on.openBelow(), 'all'),
  forSession(
    bind('r', 'r', 'make the selected method the root, and begin at zero', (on) => on.askRoot(), 'root'),
  ),
  forSession(
    bind(
      '+',
      '+',
      'give the selected method exact times, with scheme adaptive',
      (on) => on.askTime(),
      'time',
    ),
  ),
  forSession(
    bind(
      'x',
      'x',
      'leave the selected method out, its class or its package',
      (on) => on.askLeaveOut(),
      'leave out',
    ),
  ),
  forSession(
    bind('X', 'X', 'what was left out or added by hand; take it back, or type more', (on) =>
      on.listLeftOut(),
    ),
  ),
  bind('a', 'a', 'with --liveness: what is still alive, by context', (on) => on.toggle('alive')),
  WARNINGS,
  bind('O', 'O', 'reverse the order', (on) => on.reverse()),
  bind('n', 'n', 'next match of the search', (on) => on.nextMatch(1)),
  bind('N', 'N', 'match before', (on) => on.nextMatch(-1)),
  bind('escape backspace', 'Esc', 'close a page, end the search, zoom out', (on) => on.escape()),
  bind('up k', 'Up k', 'one row up', (on) => on.move(-1)),
  bind('down j', 'Down j', 'one row down', (on) => on.move(1)),
  bind('right l', 'Right l', 'open, then go to the first row below', (on) => on.goRight()),
  bind('left h', 'Left h', 'close, then go to the caller', (on) => on.goLeft()),
  bind('pageup C-b', 'PgUp', 'one page up', (on) => on.movePages(-1)),
  bind('pagedown C-f', 'PgDn', 'one page down', (on) => on.movePages(1)),
  bind('home g', 'Home g', 'first row', (on) => on.moveTo(0)),
  bind('end G', 'End G', 'last row', (on) => on.moveTo(Number.POSITIVE_INFINITY)),
  SUSPEND,
  ...SORT_COLUMNS.map((column, i) => bind(`${i + 1}`, '', '', (on) => on.sortBy(column))),
]

/** Of the view of regions. */
export const REGION_BINDINGS: readonly Binding<FrameActions>[] = [
  QUIT,
  HELP,
  bind('up k', 'Up k', 'the region above', (on) => on.move(-1), 'above'),
  bind('down j', 'Down j', 'the region below', (on) => on.move(1), 'below'),
  PAUSE,
  ZERO,
  SAVE,
  EXPORT,
  { ...WARNINGS, short: 'warnings' },
  bind('escape', 'Esc', 'close a page', (on) => on.escape()),
  SUSPEND,
]

function forSession<On>(binding: Binding<On>): Binding<On> {
  return { ...binding, isForSession: true }
}

export function bind<On = Actions>(
  keys: string,
  label: string,
  help: string,
  run: Binding<On>['run'],
  short?: string,
): Binding<On> {
  return { keys: keys.split(' '), label, help, run, ...(short === undefined ? {} : { short }) }
}
