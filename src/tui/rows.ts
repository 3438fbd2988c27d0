// Maps a calling context tree to rows on the screen: open nodes, order, and the visible window of possibly a million rows. Independent of
// the terminal.
//
// The run time depends on the number of visible rows. A completely open subtree has `size` rows, and a closed subtree has one row, so rows
// below such a subtree are found without traversing it. Only siblings on the path are sorted. No function here is recursive, since trees
// may be 100,000 levels deep.

import { getOrAdd } from '../base/maps.ts'
import { costsOf } from '../cct/metric.ts'
import { type HotMethod, hotMethods } from '../cct/snapshot.ts'
import type { MethodName, Tree } from '../cct/tree.ts'
import { column } from '../profile/profile.ts'
import { fullName } from '../profile/text.ts'
import { CHANGE_COLUMNS } from './baseline.ts'

/** Method ids from a root to a node. A path identifies a node across snapshots. */
export type Path = readonly number[]

export const SORT_COLUMNS = ['total', 'self', 'share', 'calls', 'perCall', 'name'] as const
export type SortColumn = (typeof SORT_COLUMNS)[number]

export interface Sort {
  readonly column: SortColumn
  /** False: numbers in descending order, names in ascending order. True: the opposite order. */
  readonly reversed: boolean
}

export interface Row {
  /** Index of the node in the tree. */
  readonly node: number
  /** Index of the top node of the tree that contains the node. */
  readonly root: number
  readonly depth: number
  /** Whether the children of the row are shown as rows. */
  readonly open: boolean
  readonly leaf: boolean
}

/** Open state of one path. Undefined fields are inherited from the parent path. */
interface Fold {
  open?: boolean
  /** Default open state of all paths below this path. */
  below?: boolean
  children?: Map<number, Fold>
}

/**
 * Set of open paths: a trie of method ids with entries only for explicitly opened or closed paths. It does not depend on the snapshot, and
 * "open all below" needs only one entry.
 */
export class Expansion {
  readonly root: Fold = { open: true }

  #at(path: Path): Fold {
    let fold = this.root
    for (const method of path) fold = childOf(fold, method)
    return fold
  }

  set(path: Path, open: boolean): void {
    this.#at(path).open = open
  }

  /** Opens or closes a path and all paths below it, including paths in later snapshots. */
  setBelow(path: Path, open: boolean): void {
    const fold = this.#at(path)
    fold.open = open
    fold.below = open
    delete fold.children
  }

  /** Opens every parent of a path, so that the path has a row. */
  reveal(path: Path): void {
    let fold = this.root
    let inherited = this.root.below ?? false
    for (const method of path.slice(0, -1)) {
      const next = childOf(fold, method)
      if (!(next.open ?? inherited)) next.open = true
      inherited = next.below ?? inherited
      fold = next
    }
  }
}

/** Returns the trie entry of a child. Creates a missing entry. */
function childOf(fold: Fold, method: number): Fold {
  fold.children ??= new Map()
  return getOrAdd(fold.children, method, () => ({}))
}

/** Function that returns the name used for sorting and searching: `com.acme.Foo.bar`. */
export type NameText = (method: number) => string

/** Rows of one tree for the current open paths and sort order. Recreated when the tree, the open paths or the order change. */
export class TreeRows {
  readonly tree: Tree
  readonly count: number
  readonly #expansion: Expansion
  readonly #sort: Sort
  readonly #compare: (a: number, b: number) => number
  readonly #sorted: Map<number, readonly number[]>
  /** Number of rows of subtrees that contain explicitly opened or closed paths. */
  readonly #rows = new Map<number, number>()

  /** @param before  previous rows; their sorted children are reused if tree and order are unchanged */
  constructor(tree: Tree, expansion: Expansion, sort: Sort, nameText: NameText, before?: TreeRows) {
    this.tree = tree
    this.#expansion = expansion
    this.#sort = sort
    this.#sorted = before?.tree === tree && before.#sort === sort ? before.#sorted : new Map()
    this.#compare = comparison(tree, sort, nameText)
    this.count = this.#countRows()
  }

  /** Returns the children of `node` in display order, or the roots for -1. */
  children(node: number): readonly number[] {
    return getOrAdd(this.#sorted, node, () => {
      const { size, count } = this.tree
      const children: number[] = []
      const end = node < 0 ? count : node + size[node]!
      for (let child = node + 1; child < end; child += size[child]!) children.push(child)
      return children.length > 1 ? children.sort(this.#compare) : children
    })
  }

  /** Returns the rows with index [first, first + most). */
  window(first: number, most: number): Row[] {
    const rows: Row[] = []
    const { method, size } = this.tree
    const root = this.#expansion.root
    const frames = [
      { nodes: this.children(-1), at: 0, fold: root as Fold | undefined, below: root.below ?? false },
    ]
    let skip = Math.max(0, first)
    let top = -1
    while (frames.length > 0 && rows.length < most) {
      const frame = frames[frames.length - 1]!
      const node = frame.nodes[frame.at++]
      if (node === undefined) {
        frames.pop()
        continue
      }
      const fold = frame.fold?.children?.get(method[node]!)
      const visible = this.#visible(node, fold, frame.below)
      if (skip >= visible) {
        skip -= visible
        continue
      }
      const depth = frames.length - 1
      if (depth === 0) top = node
      if (skip > 0) skip--
      else rows.push({ node, root: top, depth, open: visible > 1, leaf: size[node] === 1 })
      if (visible > 1) {
        frames.push({ nodes: this.children(node), at: 0, fold, below: fold?.below ?? frame.below })
      }
    }
    return rows
  }

  /** Returns the row of a node, or of the closed node that hides it. */
  find(node: number): { index: number; node: number } {
    const { method } = this.tree
    const way = wayTo(this.tree, node)
    let index = 0
    let fold: Fold | undefined = this.#expansion.root
    let below = fold.below ?? false
    let above = -1
    for (let level = way.length - 1; level >= 0; level--) {
      const next = way[level]!
      for (const sibling of this.children(above)) {
        if (sibling === next) break
        index += this.#visible(sibling, fold?.children?.get(method[sibling]!), below)
      }
      fold = fold?.children?.get(method[next]!)
      if (level === 0 || this.#visible(next, fold, below) === 1) return { index, node: next }
      below = fold?.below ?? below
      above = next
      index++
    }
    return { index: 0, node: -1 }
  }

  /** Returns the number of rows of a node and its open descendants. */
  rowsOf(node: number): number {
    const { method } = this.tree
    const way = wayTo(this.tree, node)
    let fold: Fold | undefined = this.#expansion.root
    let below = fold.below ?? false
    for (let level = way.length - 1; level > 0; level--) {
      fold = fold?.children?.get(method[way[level]!]!)
      below = fold?.below ?? below
    }
    return this.#visible(node, fold?.children?.get(method[node]!), below)
  }

  /** Returns the number of rows of a node's subtree. @param fold  its trie entry, if any @param inherited  default open state */
  #visible(node: number, fold: Fold | undefined, inherited: boolean): number {
    const { size } = this.tree
    if (size[node] === 1) return 1
    if (!(fold?.open ?? inherited)) return 1
    if (fold?.children && fold.children.size > 0) return this.#rows.get(node) ?? 1
    if (fold?.below ?? inherited) return size[node]!
    const end = node + size[node]!
    let rows = 1
    for (let child = node + 1; child < end; child += size[child]!) rows++
    return rows
  }

  /** Fills `#rows` from the deepest trie entry upwards. Returns the number of all rows. */
  #countRows(): number {
    const { method, size, count } = this.tree
    const root = this.#expansion.root
    const said: { node: number; fold: Fold; below: boolean }[] = [
      { node: -1, fold: root, below: root.below ?? false },
    ]
    for (let at = 0; at < said.length; at++) {
      const { node, fold, below } = said[at]!
      const end = node < 0 ? count : node + size[node]!
      for (let child = node + 1; child < end; child += size[child]!) {
        const inside = fold.children?.get(method[child]!)
        if (!inside?.children || inside.children.size === 0) continue
        if (!(inside.open ?? below)) continue
        said.push({ node: child, fold: inside, below: inside.below ?? below })
      }
    }
    let all = 0
    for (let at = said.length - 1; at >= 0; at--) {
      const { node, fold, below } = said[at]!
      const end = node < 0 ? count : node + size[node]!
      let rows = 1
      for (let child = node + 1; child < end; child += size[child]!) {
        rows += this.#visible(child, fold.children?.get(method[child]!), below)
      }
      if (node >= 0) this.#rows.set(node, rows)
      else all = rows - 1
    }
    return all
  }
}

/** Returns the node of a path, or of the longest prefix of the path that exists in the tree; -1 if no prefix exists. */
export function nodeAt({ method, size, count }: Tree, path: Path): number {
  let node = -1
  for (const id of path) {
    const end = node < 0 ? count : node + size[node]!
    let child = node + 1
    while (child < end && method[child] !== id) child += size[child]!
    if (child >= end) break
    node = child
  }
  return node
}

export function pathOf({ method, parent }: Tree, node: number): Path {
  const path: number[] = []
  for (let at = node; at >= 0; at = parent[at]!) path.push(method[at]!)
  return path.reverse()
}

/** Returns the nodes from a node up to its root. */
function wayTo({ parent }: Tree, node: number): number[] {
  const way: number[] = []
  for (let at = node; at >= 0; at = parent[at]!) way.push(at)
  return way
}

function comparison(tree: Tree, sort: Sort, nameText: NameText): (a: number, b: number) => number {
  const sign = sort.reversed ? -1 : 1
  const { method } = tree
  if (sort.column === 'name') {
    return (a, b) => sign * order(nameText(method[a]!), nameText(method[b]!)) || a - b
  }
  const { self, total } = costsOf(tree)
  const calls = column(tree, 'calls')
  if (sort.column === 'perCall') {
    // In a tree of changes, this column is the cost at the baseline.
    const was = tree.metrics[CHANGE_COLUMNS.was]
    return (a, b) =>
      sign * difference(was?.[b] ?? total[b]! / calls[b]!, was?.[a] ?? total[a]! / calls[a]!) || a - b
  }
  const key = sort.column === 'self' ? self : sort.column === 'calls' ? calls : total
  return (a, b) => sign * (key[b]! - key[a]!) || a - b
}

/** Compares two numbers. NaN (no calls) is less than every number. */
function difference(a: number, b: number): number {
  const [left, right] = [a, b].map((it) => (Number.isNaN(it) ? Number.NEGATIVE_INFINITY : it)) as [
    number,
    number,
  ]
  return left < right ? -1 : left > right ? 1 : 0
}

export function order(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** Hot methods in display order, and the number of hidden methods. */
export interface HotRows {
  readonly methods: readonly HotMethod[]
  readonly hidden: number
}

/** Returns the hot methods in display order. @param least  minimum self cost of shown methods */
export function hotRows(
  tree: Tree,
  sort: Sort,
  nameText: NameText,
  least = Number.NEGATIVE_INFINITY,
): HotRows {
  const sign = sort.reversed ? -1 : 1
  const key = (hot: HotMethod): number => {
    if (sort.column === 'total') return hot.total
    if (sort.column === 'calls') return hot.calls
    return sort.column === 'perCall' ? hot.total / hot.calls : hot.self
  }
  const compare =
    sort.column === 'name'
      ? (a: HotMethod, b: HotMethod) => sign * order(nameText(a.method), nameText(b.method))
      : (a: HotMethod, b: HotMethod) => sign * difference(key(b), key(a)) || a.method - b.method
  const all = hotMethods(tree)
  const methods = all.filter((hot) => hot.self >= least).sort(compare)
  return { methods, hidden: all.length - methods.length }
}

/** Returns the hottest path, at most `most` levels. It ends if the most expensive child has less than a tenth of its parent's cost. */
export function hottestPath(tree: Tree, most: number): Path {
  const { total } = costsOf(tree)
  const path: number[] = []
  let node = -1
  while (path.length < most) {
    const end = node < 0 ? tree.count : node + tree.size[node]!
    let best = -1
    for (let child = node + 1; child < end; child += tree.size[child]!) {
      if (best < 0 || total[child]! > total[best]!) best = child
    }
    if (best < 0 || (node >= 0 && total[best]! < total[node]! / 10)) break
    path.push(tree.method[best]!)
    node = best
  }
  return path
}

/** Returns a memoized function from method id to name text. */
export function nameTexts(nameOf: (id: number) => MethodName): NameText {
  const known: (string | undefined)[] = []
  return (id) => {
    known[id] ??= fullName(nameOf(id))
    return known[id]
  }
}
