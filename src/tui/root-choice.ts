// Data and keys of the root chooser.

import type { MethodName, Snapshot } from '../cct/tree.ts'
import { type Binding, bind, type FramePage } from './keys.ts'
import type { RootChooser } from './root-chooser.ts'

export type ChooserPage = 'candidates' | 'tree' | 'name'
/** Pages that are shown in place of the rows. */
export type CoverPage = FramePage | 'answer'

/** Row of the candidate list. */
export interface ChooserRow {
  readonly root: string
  /** Share of all samples, 0 to 1. */
  readonly share: number
  readonly seen: number
  readonly depth: number
  /** Names of the threads that call the method. */
  readonly threads: readonly string[]
  /** False if every sample of the method's threads contains the method, so that it may never return. */
  readonly returns: boolean
}

/** Data that the root chooser shows. */
export interface RootChoice {
  readonly pid: number
  readonly mainClass: string
  readonly jdk: string
  readonly durationMs: number
  readonly warnings: readonly string[]
  readonly snapshot: Snapshot
  /** Candidates, best root first. The best root is the root in the line `next:` of the answer. */
  readonly rows: readonly ChooserRow[]
  /** Returns the answer of `jfluid why` as lines for a terminal of this width; an empty list if there is no answer. */
  answer(columns: number): readonly string[]
  /** Method names for completion. */
  readonly methods: readonly string[]
  readonly classes: readonly string[]
  methodName(id: number): MethodName
  /** Returns the number of samples, including samples after `snapshot`. All samples determine which methods below the root are timed. */
  samplesNow(): number
  /** Resolves when the JVM has ended. An attach is then impossible. */
  readonly ended: Promise<string>
  /** Returns the --root text for a method of the tree; null if the method cannot be a root. */
  rootOf(name: MethodName): string | null
  /** Returns the reason why a text cannot be a root, or null. */
  problemOf(text: string): string | null
}

const key = bind<RootChooser>

export const CHOOSER_BINDINGS: readonly Binding<RootChooser>[] = [
  key('q C-c', 'quit without a root', (on) => on.quit(), 'quit'),
  key('? f1', 'this page', (on) => on.toggle('help'), 'help'),
  key('enter: Enter', 'use the selected method as the root, and attach', (on) => on.choose(), 'choose'),
  key('/', 'search for a class or method', (on) => on.startSearch(), 'search'),
  key('tab: Tab', 'next view: candidates, sampled tree, method by name', (on) => on.turn(), 'next view'),
  key('a', 'the whole answer: why requests take their time', (on) => on.toggle('answer'), 'answer'),
  key('c', 'candidates for the root', (on) => on.show('candidates')),
  key('t', 'the sampled tree', (on) => on.show('tree')),
  key('r', 'type the name of a method', (on) => on.show('name'), 'type a name'),
  key('space: Space', 'in the tree: open or close the row', (on) => on.tree?.enter(), 'open'),
  key('*', 'in the tree: open or close the row and all rows below it', (on) => on.tree?.openBelow()),
  key('n', 'next match of the search', (on) => on.nextMatch(1)),
  key('N', 'previous match of the search', (on) => on.nextMatch(-1)),
  key('w', 'show all warnings', (on) => on.toggle('warnings')),
  key('escape: Esc', 'close the page, else end the search, else quit', (on) => on.escape()),
  key('up k: Up k', 'one row up', (on) => on.move(-1)),
  key('down j: Down j', 'one row down', (on) => on.move(1)),
  key('right l: Right l', 'in the tree: open the row; if open, go to the first row below', (on) =>
    on.tree?.goRight(),
  ),
  key('left h: Left h', 'in the tree: close the row; if closed, go to the caller', (on) => on.tree?.goLeft()),
  key('pageup C-b: PgUp', 'one page up', (on) => on.movePages(-1)),
  key('pagedown C-f: PgDn', 'one page down', (on) => on.movePages(1)),
  key('home g: Home g', 'first row', (on) => on.moveTo(0)),
  key('end G: End G', 'last row', (on) => on.moveTo(Number.POSITIVE_INFINITY)),
  key('C-z: Ctrl-Z', 'suspend jfluid to the shell; fg resumes', (on) => on.suspend()),
]
