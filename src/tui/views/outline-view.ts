// Base of tree views with rows that open and close. Open rows and the selection are stored as paths, so that they outlast a snapshot.

import { costsOf } from '../../cct/metric.ts'
import type { Tree } from '../../cct/tree.ts'
import { column } from '../../profile/profile.ts'
import { type Filtered, withoutSmall } from '../filter.ts'
import { indent, percent, width } from '../format.ts'
import type { Scene } from '../lines.ts'
import {
  Expansion,
  hottestPath,
  nodeAt,
  type Path,
  pathOf,
  type Sort,
  type SortColumn,
  TreeRows,
} from '../rows.ts'
import type { Line } from '../screen.ts'
import { matcher, NodeMatches } from '../search.ts'
import { headAt, MAX_INDENT, nameColumn, numbersOf, rowDrawer } from './columns.ts'
import { View } from './view.ts'

/** Number of levels of the hottest path that are open by default. */
const HOTTEST_LEVELS = 6

export abstract class OutlineView extends View {
  /** Rows, created lazily. */
  #rows: TreeRows | undefined
  /** Previous rows. The next rows may reuse their sorted children. */
  #before: TreeRows | undefined
  override sort: Sort = { column: 'total', reversed: false }
  #expansion = new Expansion()
  #openedByHand = false
  /** Path of the selected node. Indices of nodes differ between snapshots. */
  #selected: Path = []
  /** Cached row index of the selected node. Its search visits all siblings on the path, possibly a million nodes. */
  #found: { readonly rows: TreeRows; readonly path: Path; readonly index: number } | undefined

  /** Filtered tree, cached for the current tree and limit. */
  #filtered: (Filtered & { readonly source: Tree; readonly least: number }) | undefined

  /** Current tree before filtering. It may change when `renew` is called. */
  protected abstract get source(): Tree

  get #shown(): Filtered {
    const { least } = this.model.filter
    const { source } = this
    if (this.#filtered?.source !== source || this.#filtered.least !== least) {
      this.#filtered = { ...withoutSmall(source, least, (top) => this.wholeOf(source, top)), source, least }
    }
    return this.#filtered
  }

  /** Tree after filtering. Its nodes are the rows. */
  protected get tree(): Tree {
    return this.#shown.tree
  }

  protected get hidden(): number {
    return this.#shown.hidden
  }

  protected get rows(): TreeRows {
    if (this.#rows === undefined) {
      const { nameText } = this.model
      this.#rows = new TreeRows(this.tree, this.#expansion, this.sort, nameText, this.#before)
      this.#before = undefined
    }
    return this.#rows
  }

  /** Resets open rows and selection. */
  protected forget(): void {
    this.#expansion = new Expansion()
    this.#openedByHand = false
    this.#selected = []
  }

  protected beginAnew(): void {
    this.forget()
    this.renew()
    this.moveTo(0)
  }

  override get count(): number {
    return this.rows.count
  }

  override get index(): number {
    const { rows } = this
    if (this.#found?.rows !== rows || this.#found.path !== this.#selected) {
      const node = nodeAt(rows.tree, this.#selected)
      this.#found = { rows, path: this.#selected, index: node < 0 ? 0 : rows.find(node).index }
    }
    return this.#found.index
  }

  /** Node of the selected row in `tree`; -1 without rows. */
  protected get rowNode(): number {
    return this.rows.window(this.index, 1)[0]?.node ?? -1
  }

  override get path(): Path {
    return pathOf(this.tree, this.rowNode)
  }

  override get numbers() {
    return numbersOf(this.tree, this.rowNode)
  }

  override get id(): number | undefined {
    const node = this.rowNode
    return node < 0 ? undefined : this.tree.method[node]
  }

  protected override rebuild(): void {
    this.#before = this.#rows ?? this.#before
    this.#rows = undefined
    const { tree } = this
    if (!this.#openedByHand) {
      const hottest = hottestPath(tree, HOTTEST_LEVELS)
      for (let depth = 1; depth <= hottest.length; depth++) this.#expansion.set(hottest.slice(0, depth), true)
    }
  }

  protected override select(index: number): void {
    const [row] = this.rows.window(index, 1)
    if (row) this.#selected = pathOf(this.tree, row.node)
  }

  #isOpen(node: number): boolean {
    return this.tree.size[node]! > 1 && this.rows.rowsOf(node) > 1
  }

  #fold(node: number, open: boolean): void {
    this.#openedByHand = true
    this.#selected = pathOf(this.tree, node)
    this.#expansion.set(this.#selected, open)
    this.renew()
  }

  override enter(): void {
    const node = this.rowNode
    if (node >= 0) this.#fold(node, !this.#isOpen(node))
  }

  override goRight(): void {
    const node = this.rowNode
    if (node < 0 || this.tree.size[node] === 1) return
    if (this.#isOpen(node)) this.move(1)
    else this.#fold(node, true)
  }

  override goLeft(): void {
    const node = this.rowNode
    if (node < 0) return
    const above = this.tree.parent[node]!
    if (this.#isOpen(node)) this.#fold(node, false)
    else if (above >= 0) this.#selectNode(above)
  }

  override openBelow(): void {
    const node = this.rowNode
    if (node < 0) return
    this.#openedByHand = true
    const allOpen = this.rows.rowsOf(node) === this.tree.size[node]
    this.#expansion.setBelow(pathOf(this.tree, node), !allOpen)
    this.renew()
  }

  #selectNode(node: number): void {
    this.#selected = pathOf(this.tree, node)
    this.keepInSight()
  }

  /** Shows a node of `source`. If the filter hides it, the filter is removed. */
  reveal(node: number): void {
    const path = pathOf(this.source, node)
    if (pathOf(this.tree, nodeAt(this.tree, path)).length < path.length) this.model.unfilter()
    this.#revealRow(nodeAt(this.tree, path))
  }

  /** Opens the path to a node, selects the node, and scrolls so that rows above and below the node are visible. */
  #revealRow(node: number): void {
    const { bodyRows } = this.model
    this.#openedByHand = true
    this.#expansion.reveal(pathOf(this.tree, node))
    this.renew()
    this.#selectNode(node)
    const line = this.index - this.first
    if (line < 2 || line > bodyRows - 3) this.scrollTo(this.index - Math.floor(bodyRows / 3))
  }

  override find(direction: 1 | -1): number {
    const { nameText, search } = this.model
    const matches = new NodeMatches(this.rows, matcher(search, nameText))
    const node = direction > 0 ? matches.next(this.rowNode) : matches.previous(this.rowNode)
    if (node >= 0) this.#revealRow(node)
    return matches.count
  }

  /** Handles a click. A click on the marker of a row opens or closes the row. */
  override click(scene: Scene, line: number, cell: number): void {
    const index = this.first + line
    const marked = index < this.count && index !== this.index && this.#isMarkerAt(scene, index, cell)
    super.click(scene, line, cell)
    if (marked) this.enter()
  }

  #isMarkerAt({ columns }: Scene, index: number, cell: number): boolean {
    const [row] = this.rows.window(index, 1)
    if (!row || row.leaf) return false
    const names = nameColumn(columns)
    const start = names + width(indent(row.depth, (columns - names) * MAX_INDENT))
    return cell >= start && cell < start + 2
  }

  override columnAt({ columns }: Scene, cell: number): SortColumn {
    return headAt(columns, cell)
  }

  /** Returns the cost that is 100 % for the shares of rows. */
  protected abstract wholeOf(tree: Tree, root: number): number

  override body(scene: Scene): Line[] {
    const { tree } = this
    const draw = rowDrawer(scene, tree)
    const { self, total } = costsOf(tree)
    const calls = column(tree, 'calls')
    return this.lines(this.rows.window(this.first, this.model.bodyRows), (row, selected) => {
      const { node } = row
      const whole = this.wholeOf(tree, row.root)
      const share = percent(total[node]!, whole)
      const numbers = [total[node]!, self[node]!, calls[node]!] as const
      return draw(numbers, share, whole, tree.method[node]!, selected, row)
    })
  }
}
