// View with a flame graph (flame.ts). The root is at the top (icicle), each depth has one line, and box widths are proportional to total
// cost.

import { costsOf } from '../../cct/metric.ts'
import type { MethodName, Tree } from '../../cct/tree.ts'
import { METRICS } from '../../measures/columns.ts'
import { column, rootTotal } from '../../profile/profile.ts'
import { isWait } from '../../profile/text.ts'
import { type Box, Flame } from '../flame.ts'
import { clean, count, cut, type Glyphs, pad, percent, shortName, width } from '../format.ts'
import { glyphsOf, run } from '../frame-lines.ts'
import type { Scene } from '../lines.ts'
import { nodeAt, type Path, pathOf } from '../rows.ts'
import type { Line, Run, Style } from '../screen.ts'
import { matcher } from '../search.ts'
import { heatOf, numbersOf, wordsOf } from './columns.ts'
import { View } from './view.ts'

/** Maximum number of lines that a search scans. */
const MAX_SEARCHED = 10_000

export class FlameView extends View {
  /** This view has no row filter, since its layout merges cheap boxes. */
  override readonly isFiltered = false
  override readonly whyUnfiltered =
    'this view has no row filter: small boxes are merged; % works in other views'
  /** Layout of the boxes, created lazily. */
  #flame: Flame | undefined
  /** Path of the zoomed context; empty for all roots. */
  #zoom: Path = []
  #selected: Path = []
  #matched: { readonly tree: Tree; readonly search: string; readonly cost: number } | undefined

  get #shown(): Flame {
    const { tree } = this
    const { columns } = this.model
    if (this.#flame?.tree !== tree || this.#flame.columns !== columns) {
      this.#flame = new Flame(tree, nodeAt(tree, this.#zoom), columns)
    }
    return this.#flame
  }

  /** Number of lines of the flame graph, but at most one page beyond the screen. */
  override get count(): number {
    return this.#shown.depth(this.first + 2 * this.model.bodyRows)
  }

  get #at(): { readonly level: number; readonly index: number } {
    return this.#shown.find(nodeAt(this.tree, this.#selected)) ?? { level: 0, index: 0 }
  }

  override get index(): number {
    return this.#at.level
  }

  get #box(): Box | undefined {
    const { level, index } = this.#at
    return this.#shown.level(level)[index]
  }

  /** Tree of the boxes. Its total costs determine the box widths. */
  protected get tree(): Tree {
    return this.model.tree
  }

  /** Node in `tree` of the selected box; -1 without boxes. */
  protected get boxNode(): number {
    return this.#box?.node ?? -1
  }

  override get node(): number {
    return this.boxNode
  }

  override get id(): number | undefined {
    return this.boxNode < 0 ? undefined : this.tree.method[this.boxNode]
  }

  override get path(): Path {
    return pathOf(this.tree, this.boxNode)
  }

  override get numbers() {
    return numbersOf(this.tree, this.boxNode)
  }

  #choose(node: number): void {
    this.#selected = pathOf(this.tree, node)
    this.keepInSight()
  }

  /** Selects a box in this line: a caller of the selected box, or below it the most expensive callee in each line. */
  protected override select(level: number): void {
    const flame = this.#shown
    const { parent } = this.tree
    let { level: at } = this.#at
    let node = this.boxNode
    for (; at > level; at--) node = parent[node]!
    for (; at < level; at++) {
      const box = flame.level(at).find((each) => each.node === node)
      const widest = box && flame.below(at, box).find(({ contexts }) => contexts === 1)
      if (widest === undefined) break
      node = widest.node
    }
    if (node >= 0) this.#choose(node)
  }

  /** Selects a box in a line. The base class would scroll to this line even if `select` stops at an earlier line. */
  override moveTo(wanted: number): void {
    this.select(Math.max(0, Math.min(wanted, this.tree.count)))
  }

  override goLeft(): void {
    this.#aside(-1)
  }

  override goRight(): void {
    this.#aside(1)
  }

  #aside(step: 1 | -1): void {
    const { level, index } = this.#at
    const boxes = this.#shown.level(level)
    let next = index + step
    while (boxes[next] !== undefined && boxes[next]!.contexts > 1) next += step
    const box = boxes[next]
    if (box !== undefined) this.#choose(box.node)
  }

  override enter(): void {
    const { boxNode: node } = this
    if (node >= 0) this.#zoomTo(node)
  }

  #zoomTo(node: number): void {
    const { tree } = this
    // A zoom to a root with all of the cost would show the same boxes as no zoom.
    const isAll = node < 0 || (tree.parent[node]! < 0 && costsOf(tree).total[node]! >= rootTotal(tree))
    this.#zoom = isAll ? [] : pathOf(tree, node)
    this.#flame = undefined
    this.scrollTo(0)
    this.keepInSight()
  }

  /** Zooms out to the nearest caller that is visibly wider than the zoomed box. */
  override back(): boolean {
    const { tree } = this
    const { zoom } = this.#shown
    if (zoom < 0) return false
    const { total } = costsOf(tree)
    let above = tree.parent[zoom]!
    const most = total[zoom]! * (1 + 1 / this.model.columns)
    while (above >= 0 && total[above]! < most) above = tree.parent[above]!
    this.#zoomTo(above)
    return true
  }

  protected override rebuild(): void {
    this.#flame = undefined
  }

  /** Selects the next match with a box. If no match has a box, zooms to the most expensive match. */
  override find(direction: 1 | -1): number {
    const { tree } = this
    const { nameText, search } = this.model
    const matches = matcher(search, nameText)
    const { total } = costsOf(tree)
    let found = 0
    let widest = -1
    for (let node = 0; node < tree.count; node++) {
      if (!matches(tree.method[node]!)) continue
      found++
      if (widest < 0 || total[node]! > total[widest]!) widest = node
    }
    if (found === 0) return 0
    const seen = this.#seen(matches)
    const { boxNode: node } = this
    const next =
      direction > 0
        ? (seen.find((each) => each > node) ?? seen[0])
        : (seen.findLast((each) => each < node) ?? seen.at(-1))
    if (next === undefined) this.#zoomOnto(widest)
    this.#choose(next ?? widest)
    return found
  }

  /** Returns the matches that have boxes, in tree order. */
  #seen(matches: (method: number) => boolean): number[] {
    const { method } = this.tree
    const flame = this.#shown
    const nodes: number[] = []
    for (let level = 0; level < MAX_SEARCHED; level++) {
      const boxes = flame.level(level)
      if (boxes.length === 0) break
      for (const { node, contexts } of boxes) if (contexts === 1 && matches(method[node]!)) nodes.push(node)
    }
    return nodes.sort((a, b) => a - b)
  }

  /** Changes the zoom so that the node has a box. Tries no zoom, then a zoom to the caller, then a zoom to the node. */
  #zoomOnto(node: number): void {
    const { tree } = this
    const { columns } = this.model
    const hasBox = (zoom: number): boolean => {
      const flame = new Flame(tree, zoom, columns)
      const at = flame.find(node)
      return at !== undefined && flame.level(at.level)[at.index]?.node === node
    }
    this.#zoomTo([-1, tree.parent[node]!].find(hasBox) ?? node)
  }

  override nothing(): string {
    return 'No cost has been recorded yet.'
  }

  override click(_scene: Scene, line: number, cell: number): void {
    const level = this.first + line
    const box = this.#shown.level(level).find(({ from, to }) => cell >= from && cell < to)
    if (box === undefined || box.contexts > 1) return
    const again = box.node === this.boxNode
    this.#choose(box.node)
    if (again) this.enter()
  }

  override head(scene: Scene): Line {
    const { columns, nameOf } = scene
    const { tree } = this
    const { zoom } = this.#shown
    const all = rootTotal(tree)
    const { ellipsis } = glyphsOf(scene)
    if (zoom < 0) return [run(pad(` ${this.title(scene)}; Enter: zoom in, Esc: zoom out`, columns), 'header')]
    const behind = `, ${percent(costsOf(tree).total[zoom]!, all)} % of total; Esc: zoom out`
    const name = shortName(nameOf(tree.method[zoom]!), columns - 10 - behind.length, ellipsis)
    return [run(pad(` zoomed: ${name}${behind}`, columns), 'header')]
  }

  override body(scene: Scene): Line[] {
    const { tree } = this
    const { bodyRows, nameText, search } = this.model
    const flame = this.#shown
    const { level: at, index } = this.#at
    const matches = matcher(search, nameText)
    const styleOf = (box: Box, isSelected: boolean): Style => {
      if (isSelected) return 'selected'
      if (box.contexts > 1) return 'dim'
      if (matches(tree.method[box.node]!)) return 'flame-match'
      return this.colour(box.node)
    }
    const lines: Line[] = []
    for (let level = this.first; level < this.first + bodyRows; level++) {
      const boxes = flame.level(level)
      if (boxes.length === 0) break
      const line: Run[] = []
      let end = 0
      for (const [i, box] of boxes.entries()) {
        line.push(run(gap(end, box.from, glyphsOf(scene)), 'dim'))
        const sign = box.contexts > 1 ? '' : this.sign(box.node)
        line.push(run(textOf(box, sign, tree, scene), styleOf(box, level === at && i === index)))
        end = box.to
      }
      line.push(run(gap(end, scene.columns, glyphsOf(scene)), 'dim'))
      lines.push(line.filter(({ text }) => text !== ''))
    }
    return lines
  }

  protected colour(node: number): Style {
    const { tree } = this
    return FLAMES[heatOf(costsOf(tree).self[node]!, rootTotal(tree))] ?? 'flame'
  }

  /** Returns a sign that is drawn before the name in a box. */
  protected sign(_node: number): string {
    return ''
  }

  protected get isZoomed(): boolean {
    return this.#shown.zoom >= 0
  }

  /** Returns the title that is shown if no context is zoomed. */
  protected title(scene: Scene): string {
    return `flame graph of ${costWord(scene)}`
  }

  /** Returns the name and the numbers of the selected box, and the share of matches. */
  override detail(scene: Scene): string | undefined {
    const { columns, nameOf } = scene
    const { tree } = this
    const { search } = this.model
    const { boxNode: node } = this
    if (node < 0) return undefined
    const words = wordsOf(scene)
    const { self, total } = costsOf(tree)
    const whole = rootTotal(tree)
    const calls = column(tree, 'calls')[node]!
    const numbers =
      `${percent(total[node]!, whole)} %  ${words.total} ${words.cost(total[node]!).trimEnd()}` +
      `  ${words.self} ${words.cost(self[node]!).trimEnd()}  ${words.calls} ${count(calls)}`
    const matched = search === '' ? '' : `  matched ${percent(this.#matchedCost(), whole)} %`
    const room = columns - numbers.length - matched.length - 3
    return `${shortName(nameOf(tree.method[node]!), room, glyphsOf(scene).ellipsis)}  ${numbers}${matched}`
  }

  /** Returns the total cost of all contexts that match the search. A match inside another match is not added again. */
  #matchedCost(): number {
    const { tree } = this
    const { nameText, search } = this.model
    const known = this.#matched
    if (known?.tree === tree && known.search === search) return known.cost
    const matches = matcher(search, nameText)
    const { total } = costsOf(tree)
    let cost = 0
    for (let node = 0; node < tree.count; ) {
      const isMatch = matches(tree.method[node]!)
      if (isMatch) cost += total[node]!
      node += isMatch ? tree.size[node]! : 1
    }
    this.#matched = { tree, search, cost }
    return cost
  }
}

export const FLAMES: Readonly<Partial<Record<Style, Style>>> = { hot: 'flame-hot', warm: 'flame-warm' }

function costWord({ status }: Scene): string {
  return METRICS[status.mode].word
}

/** Returns the blank cells right of a box, which are self cost of its caller. The first cell is the right edge of the box. */
function gap(from: number, to: number, { edge }: Glyphs): string {
  if (to <= from) return ''
  return from === 0 ? ' '.repeat(to) : edge + ' '.repeat(to - from - 1)
}

function textOf(box: Box, sign: string, tree: Tree, scene: Scene): string {
  const glyphs = glyphsOf(scene)
  const cells = box.to - box.from
  const room = cells - 1
  if (box.contexts > 1) {
    const many = `+${box.contexts}`
    return pad(many.length <= room ? glyphs.edge + many : glyphs.narrow.repeat(cells), cells)
  }
  const name = sign + boxName(scene.nameOf(tree.method[box.node]!), room - sign.length, glyphs.ellipsis)
  // Without UTF-8, each non-ASCII character is replaced by one "?", so that boxes keep their positions.
  return glyphs.edge + pad(scene.unicode ? name : name.replace(/[^ -~]/gu, '?'), room)
}

/** Returns the shortened name for a box, or only the method name if the class name does not fit. */
function boxName(name: MethodName, cells: number, ellipsis: string): string {
  const method = clean(name.method)
  const simple = `${clean(name.class.slice(name.class.lastIndexOf('.') + 1))}.${method}`
  if (isWait(name) || name.descriptor === '' || width(simple) <= cells)
    return shortName(name, cells, ellipsis)
  return width(method) <= cells || cells < 8
    ? cut(method, cells)
    : cut(method, cells - width(ellipsis)) + ellipsis
}
