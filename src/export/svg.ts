// Writes a flame graph as a static SVG image, for a build's artifacts or a page that runs no scripts. The root is at the top, and the width
// of a box is its total cost. A box has a tooltip with the whole name and the numbers (the element `title`). Its text is cut to its width.
// Contexts narrower than MIN_WIDTH and levels below MAX_LEVELS are not drawn; the last line of the image has their number.

import { costsOf } from '../cct/metric.ts'
import type { Tree } from '../cct/tree.ts'
import { METRICS } from '../measures/columns.ts'
import { type CostWords, wordsOf } from '../profile/cost-text.ts'
import { column, type Profile, rootTotal } from '../profile/profile.ts'
import { count, percent, plural, shortName } from '../profile/text.ts'
import type { ExportFormat } from './format.ts'
import { type FrameNames, frameNames, printable, threadTitle, treesOf } from './frames.ts'

const WIDTH = 1200
const MARGIN = 10
const ROW = 17
const HEAD = 30
const FOOT = 26
const FONT_SIZE = 11
/** Width of a character of the common monospace fonts, as a part of the font size. The widest of them has 0.602. */
const CHARACTER = FONT_SIZE * 0.61
/** Space between a box and its text. */
const PADDING = 3
const MIN_WIDTH = 0.5
/** A box with less room has no text. */
const MIN_CHARACTERS = 3
const MAX_LEVELS = 200

export const svg: ExportFormat = {
  name: 'svg',
  extension: '.svg',
  description: 'a flame graph as an image without scripts: browsers, artifacts of a build',
  *pieces(profile, options) {
    const names = frameNames(profile)
    const trees = treesOf(profile, options.threads)
    const extent = extentOf(trees.map(({ tree }) => tree))
    const levels = extent.levels + (options.threads === true ? 1 : 0)
    const height = HEAD + Math.max(1, levels) * ROW + FOOT
    yield `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}" font-family="monospace" font-size="${FONT_SIZE}">\n`
    yield `<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>\n`
    yield line(MARGIN, 19, title(profile), 'font-size="14"')
    const words = wordsOf(METRICS[profile.mode])
    let x = MARGIN
    for (const { tree, thread } of trees) {
      const drawing = { tree, names, words, whole: extent.whole }
      const wide = widthOf(rootTotal(tree), extent.whole)
      if (thread === undefined) yield* boxes(drawing, x, 0)
      else {
        const name = threadTitle(thread)
        if (wide >= MIN_WIDTH)
          yield box(x, 0, wide, name, `${name}: ${costText(drawing, rootTotal(tree))}`, name)
        yield* boxes(drawing, x, 1)
      }
      x += wide
    }
    yield line(MARGIN, height - 9, footer(extent), 'fill="#555555"')
    yield '</svg>\n'
  },
}

interface Extent {
  /** Total cost of the whole width. */
  readonly whole: number
  readonly levels: number
  /** Number of contexts that are not drawn. */
  readonly hidden: number
}

function extentOf(trees: readonly Tree[]): Extent {
  const whole = trees.reduce((sum, tree) => sum + Math.max(0, rootTotal(tree)), 0)
  let levels = 0
  let drawn = 0
  for (const tree of trees) {
    for (const { level } of placed(tree, whole, 0)) {
      levels = Math.max(levels, level + 1)
      drawn++
    }
  }
  return { whole, levels, hidden: trees.reduce((sum, tree) => sum + tree.count, 0) - drawn }
}

interface Placed {
  readonly node: number
  readonly level: number
  readonly x: number
  readonly wide: number
}

/** Yields the contexts that are drawn. A context is never wider than the rest of its caller: a self cost below zero makes callees wider. */
function* placed(tree: Tree, whole: number, left: number): Generator<Placed> {
  const { total } = costsOf(tree)
  /** For each open level: the first node after it, and the horizontal range that is left for callees. */
  const open: { readonly end: number; x: number; readonly right: number }[] = [
    { end: tree.count, x: left, right: WIDTH },
  ]
  for (let node = 0; node < tree.count; ) {
    while (node >= open[open.length - 1]!.end) open.pop()
    const caller = open[open.length - 1]!
    const wide = Math.min(widthOf(total[node]!, whole), caller.right - caller.x)
    const { x } = caller
    const level = open.length - 1
    if (wide < MIN_WIDTH || level >= MAX_LEVELS) {
      caller.x += Math.max(0, wide)
      node += tree.size[node]!
      continue
    }
    yield { node, level, x, wide }
    caller.x += wide
    open.push({ end: node + tree.size[node]!, x, right: x + wide })
    node++
  }
}

function widthOf(cost: number, whole: number): number {
  return whole <= 0 ? 0 : (Math.max(0, cost) / whole) * (WIDTH - 2 * MARGIN)
}

interface Drawing {
  readonly tree: Tree
  readonly names: FrameNames
  readonly words: CostWords
  readonly whole: number
}

function* boxes(drawing: Drawing, left: number, top: number): Generator<string> {
  const { tree, names, words, whole } = drawing
  const { self, total } = costsOf(tree)
  const calls = column(tree, 'calls')
  for (const { node, level, x, wide } of placed(tree, whole, left)) {
    const id = tree.method[node]!
    const full = names.frame(id)
    const cells = Math.floor((wide - 2 * PADDING) / CHARACTER)
    const text = cells < MIN_CHARACTERS ? '' : printable(shortName(names.nameOf(id), cells))
    const numbers = `${costText(drawing, total[node]!)}, ${words.self} ${words.cost(self[node]!, 20).trim()}, ${count(calls[node]!, 20).trim()} ${words.calls}`
    yield box(x, level + top, wide, text, `${full}: ${numbers}`, names.nameOf(id).class)
  }
}

function costText({ words, whole }: Drawing, cost: number): string {
  return `${words.total} ${words.cost(cost, 20).trim()} (${percent(cost, whole)} %)`
}

function box(x: number, level: number, wide: number, text: string, tooltip: string, group: string): string {
  const y = HEAD + level * ROW
  const cells = Math.floor((wide - 2 * PADDING) / CHARACTER)
  const shown = cells < MIN_CHARACTERS ? '' : fitted(text, cells)
  const label = shown === '' ? '' : `<text x="${(x + PADDING).toFixed(1)}" y="${y + 12}">${xml(shown)}</text>`
  // The gap of half a unit separates boxes of the same color.
  const rect = `<rect x="${x.toFixed(1)}" y="${y}" width="${Math.max(0.3, wide - 0.5).toFixed(1)}" height="${ROW - 1}" fill="${colorOf(group)}"/>`
  return `<g><title>${xml(tooltip)}</title>${rect}${label}</g>\n`
}

function fitted(text: string, cells: number): string {
  const characters = [...text]
  return characters.length <= cells ? text : `${characters.slice(0, cells - 1).join('')}…`
}

function line(x: number, y: number, text: string, attributes: string): string {
  return `<text x="${x}" y="${y}" ${attributes}>${xml(text)}</text>\n`
}

function title({ target, mode, merged, roots }: Profile): string {
  const words = wordsOf(METRICS[mode])
  const what = roots.length === 0 ? 'the whole JVM' : roots.join(', ')
  const text = printable(
    `${target.mainClass}: ${words.total} ${words.cost(rootTotal(merged), 20).trim()} of ${what}`,
  )
  return fitted(text, Math.floor((WIDTH - 2 * MARGIN) / (14 * 0.61)))
}

function footer({ hidden, levels }: Extent): string {
  const how = 'Width: total cost. A tooltip has the numbers of a box.'
  if (hidden === 0) return how
  const deep = levels >= MAX_LEVELS ? ` or deeper than ${MAX_LEVELS} levels` : ''
  return `${how} ${plural(hidden, 'context')} narrower than half a pixel${deep}: not drawn.`
}

/** Returns a light color, so that black text is readable. Classes of a package have similar colors. */
function colorOf(group: string): string {
  const end = group.lastIndexOf('.')
  const hue = end < 0 ? hash(group) : hash(group.slice(0, end))
  return `hsl(${hue % 360},70%,${72 + (hash(group) % 12)}%)`
}

function hash(text: string): number {
  let value = 2166136261
  for (let i = 0; i < text.length; i++) value = Math.imul(value ^ text.charCodeAt(i), 16777619)
  return value >>> 0
}

/** Escapes a text. Replaces characters that XML does not allow. */
function xml(text: string): string {
  return printable(text)
    .replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]|[\ufffe\uffff]/g, '?')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
}
