// Key tables of the live views. Each table defines the key page, the key line at the bottom, and the actions.

import type { LiveView } from './app.ts'
import type { Frame } from './frame.ts'
import type { RegionView } from './region-app.ts'
import { SORT_COLUMNS } from './rows.ts'

type AnyView = Frame<unknown>

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
/** Pages of the views of a session or a file. */
export type SessionPage = FramePage | 'dump'
export type PageName = SessionPage | 'alive' | 'slow' | 'source'

export interface Binding<On = LiveView> {
  /** Key names as in input.ts. */
  readonly keys: readonly string[]
  /** Text for the keys on the key page. */
  readonly label: string
  readonly help: string
  run(actions: On): void
  /** Label in the key line at the bottom. Absent if the key is not in this line. */
  readonly short?: string
  /** True if the key works only in a live session, not in a file. */
  readonly isForSession?: true
  /** Help text for a file, if it differs. */
  readonly inFile?: string
}

/** Returns the keys for a session or for a file. */
export function keysFor<On>(bindings: readonly Binding<On>[], isFile: boolean): readonly Binding<On>[] {
  if (!isFile) return bindings
  return bindings
    .filter((it) => it.isForSession !== true)
    .map((it) => (it.inFile === undefined ? it : { ...it, help: it.inFile }))
}

const QUIT: Binding<AnyView> = {
  ...bind<AnyView>('q C-c', 'detach and quit', (on) => on.quit(), 'quit'),
  inFile: 'quit',
}
const HELP = bind<AnyView>('? f1', 'this page', (on) => on.toggle('help'), 'help')
const PAUSE = inSession<AnyView>(
  'p',
  'pause the display (recording continues); again: resume',
  (on) => on.pause(),
  'pause',
)
const ZERO = inSession<AnyView>('z', 'reset all counts and times to zero', (on) => on.reset(), 'zero')
const SAVE: Binding<AnyView> = {
  ...bind<AnyView>('s', 'save the profile recorded so far; recording continues', (on) => on.save(), 'save'),
  inFile: 'save a copy of the file',
}
const EXPORT = bind<AnyView>(
  'e',
  'export for other tools: choose a format, then a file name',
  (on) => on.export(),
  'export',
)
const WARNINGS = bind<AnyView>('w', 'show all warnings', (on) => on.toggle('warnings'))
const DUMP = inSession<LiveView | RegionView>(
  'D',
  'thread dump: stacks of all threads, deadlocks first; again: new dump',
  (on) => on.dumpThreads(),
)
const SUSPEND: Binding<AnyView> = {
  ...bind<AnyView>('C-z: Ctrl-Z', 'suspend jfluid to the shell; this ends the recording; fg resumes', (on) =>
    on.suspend(),
  ),
  inFile: 'suspend jfluid to the shell; fg resumes',
}

/** Keys of the view of calls. The most important keys are first, since the key line at the bottom omits keys that do not fit. */
export const BINDINGS: readonly Binding[] = [
  QUIT,
  HELP,
  bind(
    'enter space: Enter',
    'open or close a row; show a hot method in the tree; zoom in',
    (on) => on.view.enter(),
    'open',
  ),
  bind('/', 'search for a class or method, including closed rows', (on) => on.startSearch(), 'find'),
  bind('m', 'hot methods', (on) => on.model.show('hot'), 'hot'),
  bind('t', 'calling context tree', (on) => on.model.show('tree'), 'tree'),
  bind('c', 'callers of the selected method, and their callers', (on) => on.model.showCallers(), 'callers'),
  bind('f', 'flame graph', (on) => on.model.show('flame'), 'flame'),
  inSession('i', 'instrumentation: redefined classes, probes, skipped methods', (on) =>
    on.model.show('instrumentation'),
  ),
  bind('b', 'baseline: show changes from now on, per root call; again: off', (on) => on.toggleBaseline()),
  bind('S', 'slow root calls: choose one and see its own tree', (on) => on.toggleSlow()),
  inSession('F', 'pause at the next slow root call and show its tree; again: resume', (on) =>
    on.freezeOnSlow(),
  ),
  bind('L', 'timeline; Space at two bars shows only the time between them', (on) =>
    on.model.show('timeline'),
  ),
  bind('C', 'traced calls: their calls in time order, and critical paths', (on) => on.model.show('trace')),
  bind(
    'o',
    'sort by the next column; 1 to 6 or a click on a column head: by that',
    (on) => on.model.sortNext(),
    'sort',
  ),
  bind('P', 'group rows by package, by 2-part package name, or by method', (on) => on.model.foldNext()),
  bind('%', 'hide rows below 0.1, 1 or 5 % of their root, or a typed percentage', (on) =>
    on.model.filterNext(),
  ),
  bind('y', 'copy the selected row to the clipboard', (on) => on.copyRow()),
  bind('Y', 'copy the path from the root to the selected row, one line per call', (on) => on.copyPath()),
  bind(
    'T',
    'threads and the cost of each; Enter shows only the selected thread',
    (on) => on.toggleThreads(),
    'threads',
  ),
  DUMP,
  PAUSE,
  ZERO,
  SAVE,
  EXPORT,
  bind('*', 'open or close the row and all rows below it', (on) => on.view.openBelow(), 'all'),
  {
    ...bind(
      'r',
      'make the selected method the root; if methods have probes, reset to zero',
      (on) => on.askRoot(),
      'root',
    ),
    inFile: 'make the selected method the root of all rows; Esc: show all rows',
  },
  bind(
    'v',
    'source lines of the selected method, and the share of each line',
    (on) => on.toggleSource(),
    'source',
  ),
  inSession('+', 'time every call of the selected method (scheme adaptive)', (on) => on.askTime(), 'time'),
  inSession(
    'x',
    'exclude the selected method, its class or its package',
    (on) => on.askLeaveOut(),
    'exclude',
  ),
  inSession('X', 'list of your exclusions and additions; undo them, or add more', (on) => on.listLeftOut()),
  bind('a', 'objects that are still alive, per context (with --liveness)', (on) => on.toggle('alive')),
  WARNINGS,
  bind('O', 'reverse the sort order', (on) => on.model.reverse()),
  bind('n', 'next match of the search', (on) => on.model.nextMatch(1)),
  bind('N', 'previous match of the search', (on) => on.model.nextMatch(-1)),
  bind('escape backspace: Esc', 'close a page, end the search, zoom out, show all times', (on) =>
    on.escape(),
  ),
  bind('up k: Up k', 'one row up', (on) => on.view.move(-1)),
  bind('down j: Down j', 'one row down', (on) => on.view.move(1)),
  bind('right l: Right l', 'open the row; if open, go to the first row below', (on) => on.view.goRight()),
  bind('left h: Left h', 'close the row; if closed, go to the caller', (on) => on.view.goLeft()),
  bind('pageup C-b: PgUp', 'one page up', (on) => on.view.movePages(-1)),
  bind('pagedown C-f: PgDn', 'one page down', (on) => on.view.movePages(1)),
  bind('home g: Home g', 'first row', (on) => on.view.moveTo(0)),
  bind('end G: End G', 'last row', (on) => on.view.moveTo(Number.POSITIVE_INFINITY)),
  SUSPEND,
  ...SORT_COLUMNS.map((column, i) => bind(`${i + 1}: `, '', (on) => on.model.sortBy(column))),
]

/** Keys of the view of regions. */
export const REGION_BINDINGS: readonly Binding<RegionView>[] = [
  QUIT,
  HELP,
  bind('up k: Up k', 'select the region above', (on) => on.move(-1), 'above'),
  bind('down j: Down j', 'select the region below', (on) => on.move(1), 'below'),
  PAUSE,
  ZERO,
  SAVE,
  EXPORT,
  DUMP,
  { ...WARNINGS, short: 'warnings' },
  bind('escape: Esc', 'close a page', (on) => on.escape()),
  SUSPEND,
]

/** Returns an entry of a key table. @param keys  key names as in input.ts; after a colon, the text for the key page if it differs */
export function bind<On = LiveView>(
  keys: string,
  help: string,
  run: Binding<On>['run'],
  short?: string,
): Binding<On> {
  const [all = '', label] = keys.split(': ')
  const names = all.split(' ')
  return { keys: names, label: label ?? names[0]!, help, run, ...(short !== undefined && { short }) }
}

function inSession<On = LiveView>(
  keys: string,
  help: string,
  run: Binding<On>['run'],
  short?: string,
): Binding<On> {
  return { ...bind(keys, help, run, short), isForSession: true }
}
